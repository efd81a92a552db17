#!/usr/bin/env bash
# Runs clang-tidy 14 (.clang-tidy) over the project's C++ sources, two at a time.
#
#     scripts/tidy.sh [file…]     the files given, otherwise every source of build/compile_commands.json

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ! -f build/compile_commands.json ]]; then
  echo "No build/compile_commands.json: run scripts/test.sh first"
  exit 1
fi

# One command a source: those of kernels/simd are compiled several times, once per instruction set.
commands=build/tidy
mkdir -p "$commands"
mapfile -t files < <(python3 - "$commands" <<'PYTHON'
import json, os, re, sys
first = {}
for entry in json.load(open("build/compile_commands.json")):
    path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
    if path.endswith(".cpp") and not path.startswith(("..", "build")):
        # clang can't read g++'s precompiled headers, and needs none: sources include all that they use.
        entry["command"] = re.sub(r" -fpch-preprocess -include \S+", "", entry["command"])
        for own in (" -fvect-cost-model=dynamic", " -fno-thread-jumps"):  # g++'s alone
            entry["command"] = entry["command"].replace(own, "")
        first.setdefault(path, entry)
json.dump(list(first.values()), open(os.path.join(sys.argv[1], "compile_commands.json"), "w"))
print("\n".join(sorted(first)))
PYTHON
)
if (($#)); then files=("$@"); fi

# g++'s own options are in the commands: clang need not know them.
printf '%s\0' "${files[@]}" | xargs --null --max-procs=2 --max-args=1 clang-tidy -p "$commands" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
  2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
echo "clang-tidy: ${#files[@]} files"
