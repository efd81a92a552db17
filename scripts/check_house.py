#!/usr/bin/env python3
"""Checks the house rules of the source tree: which folder may include which, and how long things may get.

    check_house.py [ROOT]

Rules (docs/architecture.md says why):
- folders lean one way: `#include <tern/…>` only along ALLOWED; project headers are never included as "…";
- nothing that a program gets from <tern/tern.h> includes a header of CUDA, Eigen, oneDNN, gloo, NCCL, curl,
  ICU or libarchive;
- C++ files: median at most 120 lines, longest 400; functions: at most 60 lines, nine of ten at most 25;
- lines of C++, Python, shell and Meson: at most 110 characters; all Meson files together: at most 450 lines;
- a header has `#pragma once` and opens with a comment; no notes of unfinished work in any text.

scripts/house_exceptions.txt grants single files a larger limit, a line each: `path limit=value reason`, where
limit is file, function or width. An exception that nothing needs is an error too.
"""

import os
import re
import statistics
import sys
from pathlib import Path

from cpp_functions import UnbalancedBraces, functions, without_comments

BELOW_TRAIN = {"core", "kernels", "autograd", "nn", "optim", "data", "distributed"}
EVERYTHING = BELOW_TRAIN | {"train", "tests", "examples", "benchmarks", "tern.h"}
ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "autograd": {"core", "kernels"},
    "nn": {"core", "kernels", "autograd"},
    "optim": {"core", "kernels"},
    "data": {"core", "kernels"},
    "distributed": BELOW_TRAIN,
    "train": BELOW_TRAIN,
    "tern.h": BELOW_TRAIN | {"train"},
    "tests": EVERYTHING,
    "examples": EVERYTHING,
    "benchmarks": EVERYTHING,
}
HIDDEN_HEADERS = re.compile(
    r"(cuda|cublas|cudnn|curand|cub/|thrust/|nvrtc|nvtx|nccl|Eigen/|unsupported/Eigen/|dnnl|oneapi/|gloo/"
    r"|unicode/|curl/|archive\.h|archive_entry\.h)"
)
CPP = {".h", ".cpp", ".cu", ".cuh", ".inc"}
CODE = CPP | {".py", ".sh"}
TEXT = CODE | {".md", ".txt", ".build"}
MESON = {"meson.build", "meson_options.txt"}
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')

MEDIAN_FILE, LONGEST_FILE = 120, 400
LONGEST_FUNCTION, FUNCTION_P90 = 60, 25
WIDTH, MESON_LINES = 110, 450


class House:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[str] = []
        self.exceptions: dict[tuple[str, str], int] = {}
        self.used: set[tuple[str, str]] = set()
        self.lines = {path: self.read(path) for path in self.source_files()}

    def source_files(self) -> list[str]:
        """Paths of the project's own text files, relative to the root."""
        found = [path.name for path in self.root.iterdir() if path.is_file()]
        for folder in (*ALLOWED, "scripts", "docs"):
            for place, folders, names in os.walk(self.root / folder):
                folders[:] = [name for name in folders if not name.startswith((".", "__"))]
                found += [(Path(place) / name).relative_to(self.root).as_posix() for name in names]
        return sorted(path for path in found if Path(path).suffix in TEXT)

    def read(self, path: str) -> list[str]:
        return (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()

    def report(self, path: str, line: int, message: str) -> None:
        self.problems.append(f"{path}:{line}: {message}")

    def of_type(self, suffixes: set[str]) -> list[str]:
        return [path for path in self.lines if Path(path).suffix in suffixes]

    def limit(self, path: str, name: str, usual: int, value: int) -> int:
        """The limit for this file, which an exception may raise; `value` is what the file needs."""
        granted = self.exceptions.get((path, name))
        if granted is None or value <= usual:
            return usual
        self.used.add((path, name))
        return granted


def read_exceptions(house: House) -> None:
    path = "scripts/house_exceptions.txt"
    for number, line in enumerate(house.lines.get(path, []), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+)\s+(file|function|width)=(\d+)\s+(\S.*)", line)
        if match is None:
            house.report(path, number, "expected `path limit=value reason`; limit: file, function or width")
        elif match[1] not in house.lines:
            house.report(path, number, f"there is no {match[1]}")
        else:
            house.exceptions[match[1], match[2]] = int(match[3])


def check_unused_exceptions(house: House) -> None:
    for path, name in sorted(house.exceptions.keys() - house.used):
        house.report("scripts/house_exceptions.txt", 1, f"{path} no longer needs its exception for {name}")


def includes(house: House, path: str) -> list[tuple[int, str, bool]]:
    """(line, header, whether it is in quotes) of each include in the file."""
    matches = ((number, INCLUDE.match(line)) for number, line in enumerate(house.lines[path], 1))
    return [(number, match[1] or match[2], match[2] is not None) for number, match in matches if match]


def check_arrows(house: House) -> None:
    for path in house.of_type(CPP):
        folder = path.split("/")[0]
        for line, header, quoted in includes(house, path):
            if quoted:
                house.report(path, line, f'"{header}": project headers are included as <tern/folder/name.h>')
            if quoted or not header.startswith("tern/"):
                continue
            target = header.removeprefix("tern/")
            if target not in house.lines:
                house.report(path, line, f"<{header}> does not exist")
            to = target.split("/")[0]
            if to != folder and to not in ALLOWED.get(folder, set()):
                may = ", ".join(sorted(ALLOWED.get(folder, set()))) or "nothing"
                house.report(path, line, f"{folder} must not include {to} (only {may})")


def check_public_headers(house: House) -> None:
    """Follows <tern/…> from tern.h; each entry of `chain` is the header's path from there."""
    if "tern.h" not in house.lines:
        house.report("tern.h", 1, "the umbrella header is missing")
        return
    chain = {"tern.h": "tern.h"}
    waiting = ["tern.h"]
    while waiting:
        path = waiting.pop()
        for line, header, _ in includes(house, path):
            target = header.removeprefix("tern/")
            if HIDDEN_HEADERS.match(header):
                house.report(path, line, f"<{header}> is reachable from a public header: {chain[path]}")
            elif header != target and target in house.lines and target not in chain:
                chain[target] = f"{chain[path]} > {target}"
                waiting.append(target)


def check_file_lengths(house: House) -> str:
    lengths = {path: len(house.lines[path]) for path in house.of_type(CODE)}
    for path, length in lengths.items():
        limit = house.limit(path, "file", LONGEST_FILE, length)
        if length > limit:
            house.report(path, limit + 1, f"{length} lines, the limit is {limit}")
    cpp = [lengths[path] for path in house.of_type(CPP)]
    median = statistics.median(cpp) if cpp else 0
    if median > MEDIAN_FILE:
        house.report(".", 1, f"the median C++ file has {median:g} lines, the limit is {MEDIAN_FILE}")
    return f"{len(cpp)} C++ files (median {median:g} lines, longest {max(cpp, default=0)})"


def check_functions(house: House) -> str:
    lengths = []
    for path in house.of_type(CPP):
        try:
            found = functions("\n".join(house.lines[path]))
        except UnbalancedBraces as error:
            house.report(
                path, error.line, "braces don't match (an #else branch?): functions can't be measured"
            )
            continue
        for function in found:
            limit = house.limit(path, "function", LONGEST_FUNCTION, function.length)
            lengths.append(function.length)
            if function.length > limit:
                message = f"{function.name}: {function.length} lines, the limit is {limit}"
                house.report(path, function.line, message)
    lengths.sort()
    p90 = lengths[(len(lengths) * 9 - 1) // 10] if lengths else 0
    if p90 > FUNCTION_P90:
        house.report(".", 1, f"nine of ten functions have up to {p90} lines, the limit is {FUNCTION_P90}")
    return f"{len(lengths)} functions (nine of ten up to {p90} lines, longest {max(lengths, default=0)})"


def check_widths(house: House) -> None:
    meson = [path for path in house.lines if Path(path).name in MESON]
    for path in house.of_type(CODE) + meson:
        limit = house.limit(path, "width", WIDTH, max(map(len, house.lines[path]), default=0))
        for number, line in enumerate(house.lines[path], 1):
            if len(line) > limit:
                house.report(path, number, f"{len(line)} characters wide, the limit is {limit}")


def check_build_files(house: House) -> str:
    total = sum(len(lines) for path, lines in house.lines.items() if Path(path).name in MESON)
    if total > MESON_LINES:
        house.report("meson.build", 1, f"the Meson files have {total} lines, the limit is {MESON_LINES}")
    return f"Meson files {total} lines"


def check_headers(house: House) -> None:
    for path in house.of_type({".h", ".cuh"}):
        lines = house.lines[path]
        if not lines or not lines[0].startswith(("//", "/*")):
            house.report(path, 1, "a header opens with a comment: what it is, who owns it, which thread")
        # The compiler is given a precompiled header as if it were a source, and warns of the pragma there.
        is_precompiled = path.endswith("/precompiled.h")
        if not is_precompiled and "#pragma once" not in without_comments("\n".join(lines)).splitlines():
            house.report(path, 1, "#pragma once is missing")


def check_unfinished(house: House) -> None:
    for path, lines in house.lines.items():
        for number, line in enumerate(lines, 1):
            if match := UNFINISHED.search(line):
                house.report(path, number, f"{match[1]}: finish it or file it")


def check_house(root: Path) -> tuple[list[str], str]:
    """The problems found, as `file:line: message`, and a summary of the sizes."""
    house = House(root)
    read_exceptions(house)
    check_arrows(house)
    check_public_headers(house)
    sizes = [check_file_lengths(house), check_functions(house), check_build_files(house)]
    check_widths(house)
    check_headers(house)
    check_unfinished(house)
    check_unused_exceptions(house)
    return house.problems, ", ".join(sizes)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    problems, summary = check_house(root)
    print("\n".join([*problems, f"house: {summary}; {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
