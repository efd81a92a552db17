"""Finds the functions of a C++ file and their lengths, by reading braces: exact enough for formatted code."""

import re
from dataclasses import dataclass, field


class UnbalancedBraces(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(f"unbalanced braces at line {line}")
        self.line = line


@dataclass
class Function:
    name: str
    line: int
    length: int


@dataclass
class Scope:
    """An open brace: what it opens, and the words before it, which go on after a brace initialiser."""

    kind: str  # "scope" (namespace, class), "function", "block" (inside a function), "initialiser"
    head: list[tuple[str, int]] = field(default_factory=list)


COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'''R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'''
CHARACTER = r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
LITERALS = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|[^\s\w]|\d[\w.']*")
AFTER_PARAMETERS = {"const", "noexcept", "override", "final", "mutable", "try", "&"}


def newlines_of(text: str) -> str:
    return "\n" * text.count("\n")


def without_comments(text: str) -> str:
    """The text with each comment replaced by its line ends; string literals stay."""
    keep = lambda match: newlines_of(match[0]) if match[0].startswith("/") else match[0]
    return LITERALS.sub(keep, text)


def plain_code(text: str) -> str:
    """The text without comments, directives and the contents of literals; lines stay where they are."""
    blank = lambda match: ("" if match[0].startswith("/") else '""') + newlines_of(match[0])
    return DIRECTIVE.sub(lambda match: newlines_of(match[0]), LITERALS.sub(blank, text))


def top_level(words: list[str]) -> list[str]:
    """The words outside parentheses, each pair of which becomes one "()"."""
    result, depth = [], 0
    for word in words:
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth == 0:
                result.append("()")
        elif depth == 0:
            result.append(word)
    return result


def opens(words: list[str]) -> str:
    """What a brace opens that follows these words outside a function."""
    outer = top_level(words)
    if not outer or "namespace" in outer or outer[0] == "extern" and len(outer) == 2:
        return "scope"
    if "()" not in outer:
        return "scope" if {"class", "struct", "union", "enum"} & set(outer) else "initialiser"
    after = outer[outer.index("()") + 1 :]
    if ":" in after and outer[-1] not in ("()", "}"):
        return "initialiser"  # Foo(int a) : a_{
    if "operator" not in outer and "=" in outer and outer[-1] != "()" and outer[-1] not in AFTER_PARAMETERS:
        return "initialiser"
    return "function"


def name_of(words: list[str]) -> str:
    if "operator" in words:
        return "".join(words[words.index("operator") : words.index("(", words.index("operator") + 2)])
    names = [name for name, after in zip(words, words[1:]) if after == "(" and name != "decltype"]
    return names[0] if names else "?"


def functions(text: str) -> list[Function]:
    """The functions outside other functions, from the line of their first word to that of their last brace.

    A lambda belongs to the function around it.
    """
    found: list[Function] = []
    stack: list[Scope] = []
    head: list[tuple[str, int]] = []
    line = 1
    for line, code in enumerate(plain_code(text).split("\n"), 1):
        for word in TOKEN.findall(code):
            if word == "{":
                inside = stack and stack[-1].kind in ("function", "block")
                kind = "block" if inside else opens([w for w, _ in head])
                stack.append(Scope(kind, [] if inside else [*head, (word, line)]))
                head = []
            elif word == "}":
                if not stack:
                    raise UnbalancedBraces(line)
                head = close(stack.pop(), line, found)
            elif word == ";" and not open_parenthesis(head):
                head = []
            elif not (word == ":" and head and head[-1][0] in ("public", "private", "protected")):
                head.append((word, line))
            else:
                head = []
    if stack:
        raise UnbalancedBraces(line)
    return found


def open_parenthesis(head: list[tuple[str, int]]) -> bool:
    return sum((word == "(") - (word == ")") for word, _ in head) > 0


def close(scope: Scope, line: int, found: list[Function]) -> list[tuple[str, int]]:
    """Ends a scope at this line; returns the words with which the statement around it goes on."""
    if scope.kind == "function":
        words = [word for word, _ in scope.head]
        found.append(Function(name_of(words), scope.head[0][1], line - scope.head[0][1] + 1))
    return [*scope.head, ("}", line)] if scope.kind == "initialiser" else []
