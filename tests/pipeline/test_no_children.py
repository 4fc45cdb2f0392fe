"""Loading a model starts no process before it answers, and none where there is no Python."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.pipeline.subject import Subject

_ANSWERS = """
import os, subprocess, sys
import numpy as np

started = []
sys.addaudithook(
    lambda event, args: started.append(event)
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec") else None
)
import surplus
from surplus.engine import _core

detached = _core.start_detached
_core.start_detached = lambda *args: started.append("detached") or detached(*args)
{before}
inputs = dict(np.load(sys.argv[1].replace(".onnx", ".npz")))
options = {{"cache": sys.argv[2], "devices": "cpu:2", "tune": sys.argv[3]}}
if sys.argv[4] == "session":
    surplus.InferenceSession(sys.argv[1], **options).run(None, inputs)
else:
    surplus.load(sys.argv[1], **options).run(inputs)
print(started)
"""


def said(subject: Subject, tune: str, way: str = "load", before: str = "") -> str:
    code = _ANSWERS.format(before=before)
    command = [sys.executable, "-c", code, str(subject.path), str(subject.cache), tune, way]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def subject_with_inputs(subject: Subject) -> Subject:
    import numpy as np

    arrays: dict[str, Any] = dict(subject.inputs)
    np.savez(subject.path.with_suffix(".npz"), **arrays)
    return subject


@pytest.mark.parametrize("way", ["load", "session"])
@pytest.mark.parametrize("tune", ["background", "off", "now"])
def test_none_is_started_before_it_answers(
    subject_with_inputs: Subject, tune: str, way: str
) -> None:
    assert said(subject_with_inputs, tune, way) == "[]"


@pytest.mark.parametrize(
    "before",
    ["sys.frozen = True", "sys.executable = ''", "sys.executable = None"],
)
@pytest.mark.parametrize("tune", ["background", "now"])
def test_a_program_that_is_no_python_is_never_started_anew(
    subject_with_inputs: Subject, tune: str, before: str
) -> None:
    at_once = (
        "from surplus.engine.pipeline import learning;"
        "learning._LEARNING = learning.Learning(learning.IdleParams(0, 0))"
    )
    assert said(subject_with_inputs, tune, before=f"{before}\n{at_once}") == "[]"


def test_off_measures_nothing(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    from surplus.engine.pipeline import learning
    from surplus.engine.pipeline.load import load_planned

    monkeypatch.setattr(learning, "learn", None)
    options: dict[str, Any] = {"devices": "cpu:2", "cache": subject.cache, "selection_s": 0}
    model = load_planned(subject.path, tune="off", **options)
    assert model.run(subject.inputs)
    assert not model.graph.source_hash, "nobody has read it"
    measured = load_planned(subject.path, inputs=subject.inputs, tune="now", **options)
    assert load_planned(subject.path, tune="off", **options).plan.segments == measured.plan.segments
