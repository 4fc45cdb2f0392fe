"""Files that nobody has seen are first run in a child."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine.errors import ModelError
from surplus.engine.trial import first_run
from surplus.engine.trial.forked_trial import ForkedTrial
from surplus.engine.trial.trial import Trial, TrialEnd, TrialParams
from tests.loops import COUNT, ENDLESS
from tests.trial import fatal_models

WAIT_S = 120


@pytest.mark.parametrize("tune", ["now", "background"])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2"])
def test_a_model_that_ends_its_process_is_refused(tune: str, devices: str, tmp_path: Path) -> None:
    path = fatal_models.fatal_at_once(tmp_path / "fatal.onnx")
    for _ in range(2):
        with pytest.raises(ModelError, match=r"fatal.onnx: refused: run for the first.*SIGABRT"):
            surplus.load(path, devices, cache=tmp_path / "cache", tune=tune, crash_probe=True)


@pytest.mark.parametrize("tune", ["now", "background"])
def test_a_model_that_ends_its_process_when_opened_is_refused(tune: str, tmp_path: Path) -> None:
    """ONNX Runtime computes what is constant before it runs anything."""
    path = fatal_models.fatal_when_opened(tmp_path / "fatal.onnx")
    with pytest.raises(ModelError, match=r"fatal.onnx: refused: opened for the first.*SIGABRT"):
        surplus.load(path, "cpu:2", cache=tmp_path / "cache", tune=tune, crash_probe=True)


@pytest.mark.parametrize("tune", ["now", "background"])
def test_what_ends_the_process_only_fused_and_by_several_threads(tune: str, tmp_path: Path) -> None:
    path = fatal_models.fused(tmp_path / "fused.onnx")
    assert Trial(path, params=TrialParams(width=1)).verdict().end is TrialEnd.OK
    with pytest.raises(ModelError, match=r"fused.onnx: refused: run for the first.*SIGSEGV"):
        surplus.load(path, "cpu:2", cache=tmp_path / "cache", tune=tune, crash_probe=True)


def test_the_verdict_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials: list[Path] = []

    class Counted(ForkedTrial):
        def __init__(self, path: Path, params: TrialParams) -> None:
            trials.append(path)
            super().__init__(path, params)

    monkeypatch.setattr(first_run, "ForkedTrial", Counted)
    for name in ("fatal", "again"):  # by content
        path = fatal_models.fatal_at_once(tmp_path / f"{name}.onnx")
        with pytest.raises(ModelError, match=f"{name}.onnx: refused"):
            surplus.load(path, "cpu:1", cache=tmp_path / "cache", tune="now", crash_probe=True)
    assert len(trials) == 1


def test_a_model_that_never_ends_is_refused_in_time(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(COUNT)
    trips = model.graph.input[0]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(ENDLESS), trips.name))
    model.graph.input.remove(trips)
    path = tmp_path / "endless.onnx"
    onnx.save(model, path)
    for tune in ("now", "background"):
        with pytest.raises(ModelError, match=r"endless.onnx: .*(not ended after|max_load_s)"):
            surplus.load(
                path, "cpu:1", cache=tmp_path / "cache", tune=tune, max_load_s=2, crash_probe=True
            )


def test_errors_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a model")
    verdict = Trial(tmp_path / "broken.onnx").verdict()
    assert verdict.end is TrialEnd.ERROR
    assert verdict.is_harmless
    assert not verdict.opened


def test_a_trial_keeps_what_was_optimised(tmp_path: Path) -> None:
    path = fatal_models.plain(tmp_path / "plain.onnx")
    saved = tmp_path / "saved.onnx"
    assert Trial(path, params=TrialParams(save=str(saved))).verdict().end is TrialEnd.OK
    onnx.load(saved)


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    """However the parent ends: here it is killed while the child is in a kernel."""
    path = fatal_models.convolution(tmp_path / "conv.onnx")
    text = f"""
import os, signal, sys
import numpy as np
from pathlib import Path
from surplus.engine.trial.trial import Trial

inputs = {{"x": np.zeros((1, 3, 8, 8), np.float32), "w": np.zeros((4, 3, 0, 3), np.float32)}}
trial = Trial(Path({str(path)!r}), inputs)
print(trial.opened(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    # The output is a pipe of which the child of the child has no end: it is closed with both.
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.stdout == "True\n", done.stderr
