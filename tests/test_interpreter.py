"""Children are started with a Python, or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.interpreter import depth, environment_below, find_interpreter


def test_it_is_the_one_that_runs() -> None:
    assert find_interpreter() == sys.executable


@pytest.mark.parametrize("path", ["", None, "/nope/python3", "/bin/false", "/usr/bin/env"])
def test_what_is_no_python_is_none(monkeypatch: pytest.MonkeyPatch, path: Any) -> None:
    monkeypatch.setattr(sys, "executable", path)
    assert find_interpreter() is None


@pytest.mark.parametrize("name", ["python", "python3.11", "python3.13t", "pypy3", "app"])
def test_a_link_to_a_python_is_one_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    link = tmp_path / name
    link.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(link))
    assert find_interpreter() == str(link)


def test_a_program_of_its_own_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert find_interpreter() is None


def test_a_frozen_program_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert find_interpreter() is None


def test_what_a_child_starts_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for _ in range(3):
        found.append((depth(), find_interpreter() is not None))
        for name, value in environment_below().items():
            monkeypatch.setenv(name, value)
    assert found == [(0, True), (1, True), (2, False)]
    for name in environment_below():
        monkeypatch.setenv(name, "deep")
    assert find_interpreter() is None
