#!/usr/bin/env python3
"""Compiles the C++ examples of README.md and docs/*.md against the built library; runs the whole programs.

    check_docs.py [--root DIR] [--compiler "c++ …"] -- FLAGS…     to compile and link, after the source

An example is a ```cpp block. One with `int main` is a program: compiled as it stands, and run. Any other is a
fragment: definitions or statements that see `#include <tern/tern.h>` and `using namespace tern;`; statements
are wrapped in a function. An HTML comment right before a block can say more about it:

    <!-- not compiled: REASON -->             leave it out
    <!-- not run: REASON -->                  compile and link this program only
    <!-- continues -->                        it sees the names of the block before
    <!-- given: CODE -->                      code, perhaps of several lines, that readers need not see

Messages of the compiler name the line of the Markdown file.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = re.compile(
    r"(?:<!--(?P<note>(?:(?!-->).)*)-->\s*)?^```cpp *\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
MAIN = re.compile(r"^int main\(", re.MULTILINE)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
DEFINITION = re.compile(
    r"(template|class|struct|enum|using|namespace|public|private|protected)\b"
    r"|(?!for|if|while|switch|else|do|return)[\w:<>,&* ]+ [\w:&*~]+\([^;]*\)[\w:<>& -]*(\{.*)?$"
)
RUN_SECONDS = 120


class BadNote(Exception):
    pass


@dataclass
class Group:
    """Blocks that are compiled together, the first of them in `file` at `line`."""

    file: str
    line: int
    definitions: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    program: str = ""
    run: bool = True

    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def add(self, file: str, line: int, code: str) -> None:
        text = f'#line {line} "{file}"\n{code}'
        if MAIN.search(code):
            self.program = text
        else:
            (self.definitions if only_defines(code) else self.statements).append(text)


def only_defines(code: str) -> bool:
    """Whether all that starts at the left margin is a definition, so that it can't stand in a function."""
    starts = [line for line in code.splitlines() if re.match(r"[\w:]", line)]
    return all(DEFINITION.match(line) for line in starts)


def groups_of(file: str, text: str) -> tuple[list[Group], list[str]]:
    """The groups of one Markdown file, and a line about each block that is left out."""
    groups: list[Group] = []
    left_out = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        kind, _, rest = (match["note"] or "").strip().partition(":")
        if kind in ("not compiled", "not run") and not rest.strip():
            raise BadNote(f"{file}:{line}: `{kind}` needs a reason")
        if kind == "not compiled":
            left_out.append(f"{file}:{line}: not compiled:{rest}")
            continue
        if kind != "continues" or not groups:
            groups.append(Group(file, line))
        if kind == "given":
            groups[-1].add(file, line - rest.count("\n") - 2, rest + "\n")
        groups[-1].add(file, line, match["code"])
        groups[-1].run &= kind != "not run"
    return groups, left_out


def program_source(group: Group) -> str:
    return "\n".join([*group.definitions, *group.statements, group.program])


def fragments_source(groups: list[Group]) -> str:
    """All fragments as one source: a namespace each, their includes first."""
    bodies = []
    for number, group in enumerate(groups):
        start = f"namespace example_{number} {{\nusing namespace tern;"
        bodies += [start, *group.definitions, "void run() {", *group.statements, "}\n}"]
    body = "\n".join(bodies)
    includes = sorted(set(INCLUDE.findall(body)) - {"#include <tern/tern.h>"})
    return "\n".join(["#include <tern/tern.h>", *includes, INCLUDE.sub("", body), "int main() {}\n"])


def shell(command: list[str], folder: str) -> str:
    """Runs a command; its output when it fails, otherwise nothing."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_SECONDS,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return f"still running after {RUN_SECONDS} seconds"
    return "" if done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout}"


def try_out(name: str, source: str, run: bool, compiler: list[str], flags: list[str]) -> str:
    """Compiles and links a source, runs it if it is to; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "example.cpp").write_text(source, encoding="utf-8")
        if problem := shell([*compiler, "example.cpp", "-o", "example", *flags], folder):
            return f"{name} does not compile: {problem}"
        if run and (problem := shell(["./example"], folder)):
            return f"{name} does not run: {problem}"
    return ""


def check_docs(root: Path, compiler: list[str], flags: list[str]) -> list[str]:
    groups: list[Group] = []
    for path in [root / "README.md", *sorted(root.glob("docs/*.md"))]:
        if path.is_file():
            found, left_out = groups_of(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
            groups += found
            print("".join(f"{line}\n" for line in left_out), end="")
    programs = [group for group in groups if group.program]
    fragments = [group for group in groups if not group.program]
    jobs = [(group.place(), program_source(group), group.run) for group in programs]
    if fragments:
        jobs.append(("a fragment", fragments_source(fragments), False))
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda job: try_out(*job, compiler, flags), jobs)
    print(f"docs: {len(programs)} programs and {len(fragments)} fragments")
    return [problem for problem in results if problem]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--compiler", type=shlex.split, default=["c++"])
    parser.add_argument("flags", nargs="*")
    options = parser.parse_args()
    try:
        # Readers link their programs with what the examples here are linked with.
        links = " ".join(flag for flag in options.flags if flag.startswith("-l") or flag == "-pthread")
        readme = options.root / "README.md"
        told = not links or not readme.exists() or links in readme.read_text()
        problems = [] if told else [f"README.md: does not say that programs are linked with {links}"]
        problems += check_docs(options.root, options.compiler, options.flags)
    except BadNote as error:
        problems = [str(error)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
