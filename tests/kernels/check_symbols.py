"""Checks that the libraries of kernels/simd define nothing outside the namespace of their instruction set.

check_symbols.py NM LEVEL=ARCHIVE…

An inline function or template instance outside tern::simd::LEVEL, compiled with AVX-512, could be the one
copy that the linker keeps for the whole program, which then dies on a machine without it.
"""

import re
import subprocess
import sys

nm, *libraries = sys.argv[1:]
wrong = []
for library in libraries:
    level, archive = library.split("=", 1)
    command = [nm, "--defined-only", archive]
    listing = subprocess.run(command, capture_output=True, text=True, check=True)
    # "address kind name": capital letters and u are what other files see.
    symbols = re.findall(r"^[0-9a-f]+ [A-Zu] (.*)$", listing.stdout, re.MULTILINE)
    if not symbols:
        wrong.append(f"{archive}: no symbols found")
    # Mangled: in plain text, a template's name begins with the type that it returns.
    own = re.compile(rf"_Z(Z|GV|GVZ)?N[rVK]*4tern4simd{len(level)}{level}")
    wrong += [f"{archive}: {symbol}" for symbol in symbols if not own.match(symbol)]

print("\n".join(wrong) or f"{len(libraries)} libraries, each in its own namespace")
sys.exit(bool(wrong))
