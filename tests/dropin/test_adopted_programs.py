"""Programs from PyPI, unmodified, with ONNX Runtime's module and with ours: the same answers.

``make test-adopted`` installs them, with their models, into build/adopted; nothing is fetched here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.dropin.adoption import environment

PROGRAMS = Path(__file__).parent / "programs"
INSTALLED = Path(__file__).parents[2] / "build" / "adopted"
NAMES = sorted(path.stem.removeprefix("run_") for path in PROGRAMS.glob("run_*.py"))

_TOLERANCE = 1e-5

needs_programs = pytest.mark.skipif(
    not (INSTALLED / "installed").exists(), reason="make test-adopted installs them (360 MB)"
)


def said(name: str, variables: dict[str, str]) -> list[Any]:
    """What a program prints, a line of JSON each."""
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / f"run_{name}.py")],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def numbers_within(ours: Any, theirs: Any) -> bool:
    """Equal, or numbers within the tolerance where neither is a whole one."""
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(numbers_within, ours, theirs))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            numbers_within(ours[key], theirs[key]) for key in theirs
        )
    if isinstance(theirs, float):
        return abs(ours - theirs) <= _TOLERANCE * max(1.0, abs(theirs))
    return bool(ours == theirs)


@needs_programs
@pytest.mark.parametrize("name", NAMES)
def test_a_program_answers_as_with_onnxruntime(name: str, tmp_path: Path) -> None:
    before = {**os.environ, "PYTHONPATH": str(INSTALLED), "XDG_CACHE_HOME": str(tmp_path)}
    theirs = said(name, before)
    options = {"devices": "cpu:2"}
    for tune in ("background", "now"):  # as one session at first, then by a plan
        ours = said(name, {**environment(before, options), "SURPLUS_TUNE": tune})
        assert numbers_within(ours, theirs), (tune, ours, theirs)
    assert list((tmp_path / "surplus").glob("*/plan-*")), "models were loaded by our engine"


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ([1, "a", 0.5], [1, "a", 0.500001], True),
        ([1, "a", 0.5], [1, "a", 0.51], False),
        ([1], [2], False),
        ([[1.0]], [[1.0], [2.0]], False),
        ({"a": 1.0}, {"b": 1.0}, False),
    ],
)
def test_what_counts_as_the_same(ours: Any, theirs: Any, same: bool) -> None:
    assert numbers_within(ours, theirs) is same


def test_four_programs_and_more_are_tried() -> None:
    wanted = (PROGRAMS / "requirements.txt").read_text()
    assert len(NAMES) >= 4
    assert all(name.replace("_", "-") in wanted for name in NAMES)
