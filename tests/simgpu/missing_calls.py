#!/usr/bin/env python3
"""Writes a source with every function of a real library; each says that it is not simulated, and stops.

    missing_calls.py NM LIBRARY OUTPUT PATTERN

The functions are weak: those that the stand-in has replace them. So it exports the real library's names,
no more and no fewer, and a call that it lacks fails loudly by name. PATTERN: a regular expression of the
names that count.
"""

import re
import subprocess
import sys
from pathlib import Path


def exported(nm: str, library: str) -> list[str]:
    command = [nm, "-D", "--defined-only", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    fields = (line.split() for line in lines)
    return sorted({name.split("@")[0] for *_, kind, name in fields if kind in "TWi"})


def main() -> None:
    nm, library, output, pattern = sys.argv[1:]
    names = [name for name in exported(nm, library) if re.fullmatch(pattern, name)]
    text = "#include <tern/tests/simgpu/not_simulated.h>\n\n"
    for name in names:
        text += f'extern "C" __attribute__((weak, visibility("default"))) void {name}() '
        text += f'{{ simgpu::not_simulated("{name}"); }}\n'
    Path(output).write_text(text)


main()
