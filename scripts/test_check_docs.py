#!/usr/bin/env python3
"""Tests check_docs.py on small Markdown files and a library of one header."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from check_docs import BadNote, check_docs, groups_of, only_defines

HEADER = "#pragma once\nnamespace tern { inline int one() { return 1; } }\n"


def block(code: str, note: str = "") -> str:
    return (f"<!-- {note} -->\n" if note else "") + f"```cpp\n{code}```\n"


class CheckDocs(unittest.TestCase):
    def problems(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            Path(folder, "include/tern").mkdir(parents=True)
            Path(folder, "include/tern/tern.h").write_text(HEADER, encoding="utf-8")
            Path(folder, "docs").mkdir()
            Path(folder, "docs/page.md").write_text(text, encoding="utf-8")
            return check_docs(Path(folder), ["c++"], ["-std=c++20", f"-I{folder}/include"])

    def test_fragments_see_the_library_and_not_each_other(self):
        text = (
            block("int a = one();\n") + block("int a = one();\n") + block("int f() {\n  return one();\n}\n")
        )
        self.assertEqual(self.problems(text + block("#include <string>\nstd::string s;\n")), [])

    def test_a_fragment_that_does_not_compile_fails_at_its_line(self):
        found = self.problems("Text.\n\n" + block("int a = 1;\nint b = two();\n"))
        self.assertEqual(len(found), 1)
        self.assertIn("docs/page.md:5:", found[0])

    def test_a_program_is_run(self):
        program = "#include <tern/tern.h>\nint main() {\n  return tern::one() - %d;\n}\n"
        self.assertEqual(self.problems(block(program % 1)), [])
        found = self.problems(block(program % 0))
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("docs/page.md:2 does not run: exit status 1"), found)
        self.assertEqual(self.problems(block(program % 0, "not run: it shows a failure")), [])

    def test_a_block_can_continue_or_be_given_names(self):
        text = block("struct A {\n  int b = 1;\n};\n") + block("A a;\n", "continues")
        self.assertEqual(self.problems(text + block("a.b = 2;\n", "continues")), [])
        self.assertEqual(self.problems(block("c += one();\n", "given: int c = 0;\nint d = 0; ")), [])

    def test_leaving_out_needs_a_reason(self):
        self.assertEqual(self.problems(block("this is no code\n", "not compiled: pseudo code")), [])
        with self.assertRaises(BadNote):
            groups_of("a.md", block("this is no code\n", "not compiled"))

    def test_a_note_belongs_to_the_block_right_after_it(self):
        groups, left_out = groups_of("a.md", "<!-- not compiled: x -->\n\nText.\n\n" + block("int a;\n"))
        self.assertEqual((len(groups), left_out), (1, []))

    def test_definitions_are_told_from_statements(self):
        for code in (
            "Tensor f(const Tensor& x) {\n}\n",
            "class A : public B<A> {\n public:\n};\n",
            "template <class T>\nT f(T t) {\n}\n",
            "// Why.\nauto f(int a = g()) -> int {\n}\n",
        ):
            self.assertTrue(only_defines(code), code)
        for code in (
            "for (auto& x : y) {\n}\n",
            "struct A {\n};\nA a;\n",
            "f(x, [](int i) {\n});\n",
            "auto y = f(x);\n",
            "std::vector<int> a(3);\n",
            "Tensor x = f([] {\n});\n",
        ):
            self.assertFalse(only_defines(code), code)


if __name__ == "__main__":
    unittest.main()
