#!/usr/bin/env bash
# Formats the C++ sources with clang-format 14 (.clang-format); --check fails and says what would change.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Exit status 77 is Meson's for a skipped test.
if ! command -v clang-format >/dev/null; then
  echo "clang-format is missing: apt-get install clang-format"
  exit 77
fi
mapfile -t files < <(find . -path './.*' -prune -o -path './build*' -prune -o -name .venv -prune -o \
  -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) -print | sort)
if ((${#files[@]} == 0)); then exit 0; fi
if [[ ${1:-} == --check ]]; then
  clang-format --dry-run --Werror "${files[@]}" || { echo "Run scripts/format.sh"; exit 1; }
else
  clang-format -i "${files[@]}"
fi
