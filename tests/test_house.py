"""The house stays one in which one finds one's way: names, and how long files and functions are."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "cluster",
    "colocation",
    "engine",
    "loadgen",
    "milp",
    "models",
    "placement",
    "routing",
    "surplus",
)
MOST_LINES = 300
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_VERB = 100
REASON = "Long because"
"""What a longer file begins a line with, among its first lines, and then says why."""


def python_files() -> list[Path]:
    found = (ROOT / package for package in PACKAGES)
    return sorted(
        file
        for folder in found
        if not folder.is_symlink()
        for file in folder.rglob("*.py")
        if not any(part.is_symlink() for part in file.parents if ROOT in part.parents)
    )


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines behind the docstring."""
    first, *_ = body = function.body
    assert function.end_lineno is not None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        assert first.end_lineno is not None
        return function.end_lineno - first.end_lineno
    return function.end_lineno - body[0].lineno + 1


def test_the_files_are_found() -> None:
    assert len(python_files()) > 400


def test_no_public_class_name_stands_for_two_things() -> None:
    found = defaultdict(list)
    for file in python_files():
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_function_is_long() -> None:
    found = {
        f"{file.relative_to(ROOT)}: {function.name}": length(function)
        for file in python_files()
        for function in functions(ast.parse(file.read_text()))
    }
    assert {name: n for name, n in found.items() if n > MOST_LINES_OF_A_FUNCTION} == {}


def test_verbs_are_short() -> None:
    from surplus.engine.cli.main import VERBS

    for verb in VERBS:
        lines = (ROOT / "engine" / "cli" / f"{verb}.py").read_text().count("\n")
        assert lines <= MOST_LINES_OF_A_VERB, verb


@pytest.mark.parametrize("suffix", ["py", "cpp", "hpp"])
def test_a_long_file_says_why(suffix: str) -> None:
    rooms = [
        ROOT / package / "core"
        for package in ("colocation", "engine", "loadgen", "placement", "routing")
    ]
    core = [file for room in rooms for file in room.rglob(f"*.{suffix}")]
    files = python_files() if suffix == "py" else [f for f in core if "tests" not in f.parts]
    assert files
    for file in files:
        lines = file.read_text().splitlines()
        if len(lines) > MOST_LINES:
            assert any(REASON in line for line in lines[:12]), f"{file}: {len(lines)} lines"
