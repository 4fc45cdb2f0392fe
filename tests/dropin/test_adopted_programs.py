"""Programs from PyPI, unmodified, with ONNX Runtime's module and with ours: the same answers.

``make test-adopted`` installs them, with their models, into build/adopted, an environment for each
folder of programs; nothing is fetched here.
"""

from __future__ import annotations

import functools
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
SCRIPTS = sorted(PROGRAMS.glob("*/run_*.py"))
NAMES = [path.stem.removeprefix("run_") for path in SCRIPTS]

_TOLERANCE = 1e-5


def said(script: Path, variables: dict[str, str]) -> list[Any]:
    """What a program prints, a line of JSON each."""
    done = subprocess.run(
        [sys.executable, str(script)],
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


@functools.cache
def missing(environment_name: str) -> str:
    """Why programs of an environment are skipped; empty where they are not."""
    folder = INSTALLED / environment_name
    if not (folder / "installed").exists():
        return f"make test-adopted installs {environment_name}"
    if environment_name != "torch":
        return ""
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", "import torch"], env=variables, capture_output=True, check=False
    )
    return "" if done.returncode == 0 else "torch does not load here: a build for CPUs does"


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_program_answers_as_with_onnxruntime(script: Path, tmp_path: Path) -> None:
    if reason := missing(script.parent.name):
        pytest.skip(reason)
    packages = str(INSTALLED / script.parent.name)
    before = {**os.environ, "PYTHONPATH": packages, "XDG_CACHE_HOME": str(tmp_path)}
    theirs = said(script, before)
    assert theirs
    options = {"devices": "cpu:2"}
    for tune in ("background", "now"):  # as one session at first, then by a plan
        ours = said(script, {**environment(before, options), "SURPLUS_TUNE": tune})
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


def test_ten_programs_and_more_are_tried() -> None:
    assert len(NAMES) >= 10
    for script, name in zip(SCRIPTS, NAMES, strict=True):
        wanted = script.with_name("requirements.txt").read_text()
        assert name.replace("_", "-") in wanted
