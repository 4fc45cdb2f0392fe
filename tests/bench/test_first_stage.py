"""The first stage of the GPU check never ends empty-handed, whatever its steps do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.gpu_check.check import Check, CheckParams
from bench.gpu_check.parts import ModelSpec, Part
from bench.gpu_check.setting import Setting, folder_name, is_fake_cuda, mark_of
from bench.gpu_check.store import BEGUN
from bench.gpu_check.summary import summary

MACHINE = {"processor": "P", "cores": 2, "gpu": "G", "onnxruntime": "1", "commit": "c"}
NO_MODEL = (ModelSpec("none"),)


def steps(*names: str) -> tuple[Part, ...]:
    return tuple(Part(name, NO_MODEL, 1, limit_s=3, package="misbehaving") for name in names)


def check_of(folder: Path, parts: tuple[Part, ...], **injected: Any) -> Check:
    setting = Setting("cpu:1,emulated:gpu:4", folder, folder, 0)
    params = CheckParams(setting, 60, failed_last=True)
    return Check(parts, params, MACHINE, lambda line: None, **injected)


def stored(folder: Path, step: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{step}.json").read_text())["units"]["none"]
    return found


def test_a_step_that_hangs_or_crashes_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    check = check_of(tmp_path, steps("hangs", "crashes", "answers"))
    check.play()
    assert stored(tmp_path, "hangs")["error"] == "stopped after 3 s"
    assert stored(tmp_path, "crashes")["error"] == "ended by SIGSEGV; it said last: about to fail"
    assert stored(tmp_path, "answers")["figures"][0]["value"] == 42
    page = summary("G", MACHINE, {name: store.units for name, store in check.stores.items()})
    assert "- hangs none: stopped after 3 s" in page


class Ended(BaseException):
    """The check's own process ends."""


class Recorded:
    """Runs steps; one ends the check, as if the machine had gone."""

    def __init__(self, folder: Path, fatal: str) -> None:
        self.asked: list[str] = []
        self._folder, self._fatal = folder, fatal

    def __call__(self, part: Part, unit: str, setting: Setting, left_s: float) -> dict[str, Any]:
        self.asked.append(part.name)
        assert stored(self._folder, part.name)["error"] == BEGUN
        if part.name == self._fatal:
            raise Ended
        return {"figures": [], "details": {}}


def test_a_check_that_was_ended_goes_on_with_what_it_has_not_tried(tmp_path: Path) -> None:
    parts = steps("a", "b", "c")
    first = Recorded(tmp_path, fatal="b")
    with pytest.raises(Ended):
        check_of(tmp_path, parts, run=first).play()
    assert first.asked == ["a", "b"]
    assert stored(tmp_path, "b")["error"] == BEGUN
    again = Recorded(tmp_path, fatal="")
    check_of(tmp_path, parts, run=again).play()
    assert again.asked == ["c", "b"]
    assert "figures" in stored(tmp_path, "b")


def test_results_of_what_is_no_gpu_are_marked_and_lie_elsewhere() -> None:
    for title in ("FAKE Null GPU, computes nothing", "EMULATED t4"):
        assert mark_of(title)
        assert folder_name(title).startswith(mark_of(title))
        assert f"**{mark_of(title)}: no GPU took part.**" in summary(title, MACHINE, {})
    assert mark_of("NVIDIA H200") == ""
    assert "no GPU" not in summary("NVIDIA H200", MACHINE, {})


def test_the_tests_cuda_library_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        fakeCudaViolations = None

    monkeypatch.setattr("bench.gpu_check.setting.open_runtime", Library)
    assert is_fake_cuda()
    monkeypatch.setattr("bench.gpu_check.setting.open_runtime", object)
    assert not is_fake_cuda()
