#!/usr/bin/env python3
"""A stand-in exports what the real library does, under the same versions.

check_symbols.py NM STAND_IN REAL PATTERN

PATTERN: a regular expression of the names that count.
"""

import re
import subprocess
import sys


def exported(nm: str, library: str, pattern: str) -> set[str]:
    command = [nm, "-D", "--defined-only", "--with-symbol-versions", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    fields = (line.split() for line in lines)
    return {name for *_, kind, name in fields if kind in "TWi" and re.fullmatch(pattern, name.split("@")[0])}


def main() -> int:
    nm, stand_in, real, pattern = sys.argv[1:]
    ours, theirs = exported(nm, stand_in, pattern), exported(nm, real, pattern)
    for name in sorted(ours - theirs):
        print(f"{name}: the real library has no such symbol")
    for name in sorted(theirs - ours):
        print(f"{name}: the stand-in lacks it")
    print(f"{len(ours)} symbols")
    return 1 if ours != theirs else 0


sys.exit(main())
