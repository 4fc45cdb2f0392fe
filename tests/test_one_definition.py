"""No two native types of one library share a name.

Where two files define types of one name in one namespace, each compiles, and the linker keeps one
copy of their inline functions, ``std::deque<T>``'s among them, for both: memory is corrupted, and
nothing says so (the one-definition rule, C++20 [basic.def.odr]; ``-Wodr`` sees it with ``-flto``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARIES = {
    "engine": ("engine/core", "engine/include"),
    "loadgen": ("loadgen/core",),
    "placement": ("placement/core",),
    "colocation": ("colocation/core",),
    "routing": ("routing/core",),
}
CHOSEN = "engine/core/http1/no_parser.cpp"
"""Compiled instead of the other files of its folder."""

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
    r"""|\b(?:namespace|struct|class|union|enum)\b[^;{}()=]*\{|[{}]""",
    re.DOTALL,
)
OPENED = re.compile(
    r"(namespace|struct|class|union|enum(?: class)?)\b\s*(?:\[\[.*?\]\]\s*)?([\w:]*)"
)


NO_SCOPE = re.compile(r'R"\((?:.|\n)*?\)"|\balignas\([^()]*\)')


def types(text: str) -> set[str]:
    """Qualified names of the types that it defines, but for those that are of its file alone."""
    found = set()
    scopes: list[str | None] = []
    for token in TOKEN.findall(NO_SCOPE.sub("", text)):
        opened = OPENED.match(token)
        if opened:
            kind, name = opened.groups()
            if kind != "namespace" and name and None not in scopes:
                found.add("::".join([scope for scope in scopes if scope] + [name]))
            scopes.append(name or None)
        elif token == "{":
            scopes.append(None)
        elif token == "}":
            scopes.pop()
    return found


def test_types_are_found() -> None:
    text = """
        namespace a::b { // struct No {
        struct alignas(8) One : Base { enum class Kind { x }; void f() { struct Local { }; } };
        auto text = R"(} "struct No {)";
        namespace { struct Hidden { }; }
        class Declared; }
    """
    assert types(text) == {"a::b::One", "a::b::One::Kind"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_two_types_have_one_name(library: str) -> None:
    defined = defaultdict(list)
    for folder in LIBRARIES[library]:
        for file in sorted((ROOT / folder).rglob("*.[ch]*")):
            path = str(file.relative_to(ROOT))
            if file.suffix not in {".cpp", ".hpp", ".h"} or path == CHOSEN:
                continue
            for name in types(file.read_text()):
                defined[name].append(path)
    assert defined
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}
