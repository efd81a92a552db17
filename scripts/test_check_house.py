#!/usr/bin/env python3
"""Tests check_house.py: each rule on a small tree that breaks it, next to one that keeps them all."""

import tempfile
import unittest
from pathlib import Path

from check_house import MESON_LINES, check_house
from cpp_functions import UnbalancedBraces, functions

HEADER = "// What it is.\n#pragma once\n"
GOOD = {
    "tern.h": HEADER + "#include <tern/core/a.h>\n#include <tern/nn/b.h>\n",
    "core/a.h": HEADER + "#include <vector>\n",
    "core/a.cpp": "#include <tern/core/a.h>\n#include <cuda_runtime.h>\nint one() {\n  return 1;\n}\n",
    "nn/b.h": HEADER + "#include <tern/core/a.h>\n",
    "tests/a.cpp": "#include <tern/tern.h>\n#include <tern/nn/b.h>\n",
    "meson.build": "project('x', 'cpp')\n",
}


def body(name: str, lines: int) -> str:
    return f"int {name}() {{\n" + "  step();\n" * (lines - 2) + "}\n"


class HouseTest(unittest.TestCase):
    def problems(self, changes: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**GOOD, **changes}.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return check_house(Path(folder))[0]

    def expect(self, changes: dict[str, str], *starts: str) -> None:
        """Exactly these problems: each begins with its `file:line: ` and first words."""
        found = self.problems(changes)
        self.assertEqual(len(found), len(starts), found)
        for problem, start in zip(sorted(found), sorted(starts)):
            self.assertTrue(problem.startswith(start), f"{problem!r} does not start with {start!r}")


class Rules(HouseTest):
    def test_a_good_tree_has_no_problems(self):
        self.expect({})

    def test_an_arrow_against_the_lean_fails(self):
        self.expect({"core/a.cpp": "#include <tern/nn/b.h>\n"}, "core/a.cpp:1: core must not include nn")
        self.expect({"optim/c.cpp": "\n#include <tern/nn/b.h>\n"}, "optim/c.cpp:2: optim must not include nn")
        self.expect({"nn/c.cpp": "#include <tern/tern.h>\n"}, "nn/c.cpp:1: nn must not include tern.h")
        self.expect(
            {"train/c.cpp": "#include <tern/tests/a.cpp>\n"}, "train/c.cpp:1: train must not include tests"
        )

    def test_an_allowed_arrow_passes(self):
        self.expect({"train/c.cpp": "#include <tern/nn/b.h>\n", "kernels/d.cu": "#include <tern/core/a.h>\n"})

    def test_a_header_that_does_not_exist_fails(self):
        self.expect({"nn/c.cpp": "#include <tern/core/z.h>\n"}, "nn/c.cpp:1: <tern/core/z.h> does not exist")

    def test_an_include_in_quotes_fails(self):
        self.expect({"nn/c.cpp": '#include "b.h"\n'}, 'nn/c.cpp:1: "b.h": project headers')

    def test_a_hidden_library_reachable_from_tern_h_fails(self):
        for header in (
            "cuda_runtime.h",
            "Eigen/Core",
            "oneapi/dnnl/dnnl.hpp",
            "gloo/context.h",
            "nccl.h",
            "curl/curl.h",
            "archive.h",
            "cub/cub.cuh",
        ):
            changes = {"core/a.h": HEADER + f"#include <{header}>\n"}
            self.expect(
                changes, f"core/a.h:3: <{header}> is reachable from a public header: tern.h > core/a.h"
            )

    def test_a_hidden_library_in_a_private_header_passes(self):
        self.expect({"kernels/private.h": HEADER + "#include <Eigen/Core>\n"})

    def test_a_missing_umbrella_header_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_house(Path(folder))[0], ["tern.h:1: the umbrella header is missing"])

    def test_a_long_file_fails(self):
        self.expect({"nn/c.cpp": "int x;\n" * 400})
        self.expect({"nn/c.cpp": "int x;\n" * 401}, "nn/c.cpp:401: 401 lines, the limit is 400")
        self.expect({"scripts/x.py": "x = 1\n" * 401}, "scripts/x.py:401: 401 lines")

    def test_a_large_median_file_fails(self):
        changes = {f"nn/c{i}.cpp": "int x;\n" * 121 for i in range(7)}
        self.expect(changes, ".:1: the median C++ file has 121 lines, the limit is 120")

    def test_a_long_function_fails(self):
        short = "".join(body(f"f{i}", 3) for i in range(9))
        self.expect({"nn/c.cpp": short + body("g", 60)})
        self.expect({"nn/c.cpp": short + body("g", 61)}, "nn/c.cpp:28: g: 61 lines, the limit is 60")

    def test_many_rather_long_functions_fail(self):
        changes = {"nn/c.cpp": "".join(body(f"f{i}", 26) for i in range(5))}
        self.expect(changes, ".:1: nine of ten functions have up to 26 lines, the limit is 25")

    def test_braces_that_do_not_match_fail(self):
        changes = {"nn/c.cpp": "#if A\nint f() {\n#else\nint g() {\n#endif\n}\n"}
        self.expect(changes, "nn/c.cpp:6: braces don't match")

    def test_a_wide_line_fails_and_counts_characters(self):
        self.expect({"nn/c.cpp": "//" + "é" * 108 + "\n"})
        self.expect({"nn/c.cpp": "\n//" + "x" * 109 + "\n"}, "nn/c.cpp:2: 111 characters wide")
        self.expect({"nn/meson.build": "#" * 111 + "\n"}, "nn/meson.build:1: 111 characters wide")
        self.expect({"docs/x.md": "x" * 300 + "\n"})

    def test_too_many_lines_of_meson_fail(self):
        others = 1  # GOOD's own
        self.expect({"nn/meson.build": "\n" * (MESON_LINES - others)})
        message = f"meson.build:1: the Meson files have {MESON_LINES + 1} lines"
        self.expect({"nn/meson.build": "\n" * (MESON_LINES - others + 1)}, message)

    def test_a_header_without_its_opening_fails(self):
        self.expect({"core/a.h": "#pragma once\n"}, "core/a.h:1: a header opens with a comment")
        self.expect({"core/a.h": "// What.\n// #pragma once\n"}, "core/a.h:1: #pragma once is missing")

    def test_a_note_of_unfinished_work_fails(self):
        for word in ("TO" + "DO", "FIX" + "ME"):
            self.expect({"docs/x.md": f"\n{word}: later\n"}, f"docs/x.md:2: {word}")

    def test_files_of_build_and_hidden_folders_do_not_count(self):
        self.expect({"build/x.cpp": '#include "x.h"\n', "benchmarks/.venv/x.py": "x" * 200})


class Exceptions(HouseTest):
    def exception(self, line: str, changes: dict[str, str]) -> list[str]:
        return self.problems({**changes, "scripts/house_exceptions.txt": f"# Why.\n\n{line}\n"})

    def test_an_exception_raises_the_limit_of_its_file(self):
        long = {"nn/c.cpp": "int x;\n" * 450}
        self.assertEqual(self.exception("nn/c.cpp file=450 one table", long), [])
        self.assertEqual(
            self.exception("nn/c.cpp file=440 one table", long), ["nn/c.cpp:441: 450 lines, the limit is 440"]
        )
        short = "".join(body(f"f{i}", 3) for i in range(9))
        self.assertEqual(self.exception("nn/c.cpp function=80 a", {"nn/c.cpp": short + body("g", 80)}), [])
        self.assertEqual(self.exception("nn/c.cpp width=120 a", {"nn/c.cpp": "//" + "x" * 118}), [])

    def test_an_exception_without_a_reason_or_a_file_fails(self):
        where = "scripts/house_exceptions.txt:3: "
        self.assertTrue(self.exception("core/a.h file=450", {})[0].startswith(where + "expected `path"))
        self.assertEqual(self.exception("core/z.h file=450 a table", {}), [where + "there is no core/z.h"])

    def test_an_exception_that_nothing_needs_fails(self):
        found = self.exception("core/a.h file=450 a table", {})
        self.assertEqual(len(found), 1)
        self.assertIn("core/a.h no longer needs its exception for file", found[0])


class Functions(unittest.TestCase):
    def found(self, text: str) -> list[tuple[str, int, int]]:
        return [(f.name, f.line, f.length) for f in functions(text)]

    def test_functions_of_every_kind_are_found(self):
        self.assertEqual(self.found("int f(int a) {\n}\n"), [("f", 1, 2)])
        self.assertEqual(
            self.found("namespace a {\nstruct B : C<int> {\n  int f() const noexcept {\n  }\n};\n}\n"),
            [("f", 3, 2)],
        )
        self.assertEqual(self.found("template <class T>\nauto f(T t) -> decltype(t) {\n}\n"), [("f", 1, 3)])
        self.assertEqual(self.found("A::A(int a) : a_{a}, b_(a), c_{1} {\n}\n"), [("A", 1, 2)])
        self.assertEqual(self.found("bool operator==(A a, A b) {\n}\n"), [("operator==", 1, 2)])
        self.assertEqual(self.found("int A::operator()(int a) {\n}\n"), [("operator()", 1, 2)])
        self.assertEqual(self.found('TEST_CASE("a {") {\n}\n'), [("TEST_CASE", 1, 2)])

    def test_a_lambda_and_a_block_belong_to_their_function(self):
        self.assertEqual(self.found("void f() {\n  g([] {\n    if (a) {\n    }\n  });\n}\n"), [("f", 1, 6)])

    def test_initialisers_types_and_calls_are_no_functions(self):
        self.assertEqual(
            self.found("int a[] = {1, 2};\nstd::vector<int> b{1};\nenum class C { d };\nint e = f(1);\n"), []
        )
        self.assertEqual(self.found("struct A {\n  int a{0};\n  B b = {.c = 1};\n};\n"), [])

    def test_comments_strings_and_directives_hide_braces(self):
        text = '// {\n/* { */\n#define X {\nauto a = "{" R"x({)x";\nchar c = \'{\';\nint f() {\n}\n'
        self.assertEqual(self.found(text), [("f", 6, 2)])

    def test_braces_that_do_not_match_are_an_error(self):
        for text in ("}", "int f() {"):
            with self.assertRaises(UnbalancedBraces):
                functions(text)


if __name__ == "__main__":
    unittest.main()
