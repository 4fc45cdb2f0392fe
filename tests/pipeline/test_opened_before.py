"""A program that loads a file again is spared finding its plan, as long as nothing has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.pipeline import opened_before, opening
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.opened_before import OpenedBefore
from surplus.engine.runtime.planned_model import PlannedModel

OPTIONS: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0, "kernels": "onnxruntime"}
X = {"x": np.array([1, 2, 3], np.float32)}


class Reads:
    """How often a plan was read."""

    count = 0


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found, read = Reads(), opening.read_plan

    def counted(*args: Any) -> Any:
        found.count += 1
        return read(*args)

    monkeypatch.setattr(opening, "read_plan", counted)
    fresh = OpenedBefore()
    for module in (opened_before, opening):
        monkeypatch.setattr(module, "OPENED", fresh)
    return found


def model_of(path: Path, op_type: str) -> Path:
    """Written whole in its place, and long enough ago to be known by its times."""
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"])], "g", ends[:1], ends[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(made.SerializeToString())
    _settle()
    return path


def _settle() -> None:
    until_ns = time.time_ns() + 2 * opened_before._SETTLED_NS
    while time.time_ns() < until_ns:
        Path().stat()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return model_of(tmp_path / "model.onnx", "Neg")


def load(path: Path, **options: Any) -> PlannedModel:
    return load_planned(path, cache=path.parent / "cache", **{**OPTIONS, "tune": "off", **options})


@pytest.fixture
def measured(path: Path, reads: Reads) -> Path:
    load(path, tune="now")
    load(path)
    reads.count = 0
    return path


def test_what_was_opened_is_not_read_again(measured: Path, reads: Reads) -> None:
    first, second = load(measured), load(measured)
    assert reads.count == 0
    assert first.plan.segments == second.plan.segments
    assert second.run(X)["y"].tolist() == [-1, -2, -3]
    first.close()
    assert second.run(X)["y"].tolist() == [-1, -2, -3]


def test_other_settings_are_another_load(measured: Path, reads: Reads) -> None:
    load(measured, deadline_s=1.0)
    assert reads.count == 1
    load(measured, inputs=X)
    load(measured, inputs=X)
    assert reads.count == 3, "inputs of its own are not remembered"


def test_a_file_that_changed_is_read_anew(measured: Path) -> None:
    model_of(measured, "Abs")
    assert load(measured).run(X)["y"].tolist() == [1, 2, 3]


def test_a_file_of_the_same_size_and_time_is_another(measured: Path) -> None:
    before = measured.stat()
    model_of(measured, "Abs")
    os.utime(measured, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert measured.stat().st_size == before.st_size
    assert load(measured).run(X)["y"].tolist() == [1, 2, 3]


def test_a_plan_that_was_stored_meanwhile_is_read(measured: Path, reads: Reads) -> None:
    (stored,) = (measured.parent / "cache").glob("*/plan-*.json")
    os.utime(stored, ns=(time.time_ns(), time.time_ns()))
    load(measured)
    assert reads.count == 1


def test_a_cache_that_is_gone_is_not_asked(measured: Path) -> None:
    shutil.rmtree(measured.parent / "cache")
    assert load(measured).run(X)["y"].tolist() == [-1, -2, -3]


def test_the_last_ones_are_remembered(
    tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened_before, "_MOST", 1)
    for name in ("a", "b"):
        file = model_of(tmp_path / f"{name}.onnx", "Neg")
        load(file, tune="now")
        load(file)
    reads.count = 0
    load(tmp_path / "b.onnx")
    assert reads.count == 0
    load(tmp_path / "a.onnx")
    assert reads.count == 1


LOADS_WHILE_IT_IS_IMPORTED = """
import sys, threading
from pathlib import Path
from surplus.engine.pipeline.load_job import LoadJob
from surplus.engine.pipeline.loading import _opened_again
from surplus.engine.planning.load_params import LoadParams

begun, looked_up = threading.Event(), threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "surplus.engine.pipeline.in_service":
            begun.set()
            looked_up.wait(0.2)

sys.meta_path.insert(0, Slow())
importing = threading.Thread(target=__import__, args=("surplus.engine.pipeline.opening",))
importing.start()
begun.wait()
assert _opened_again(LoadJob(Path("m.onnx"), LoadParams(), None)) is None
importing.join()
"""


def test_models_may_load_while_another_thread_imports_what_opens_them() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADS_WHILE_IT_IS_IMPORTED], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
