"""A load runs what it has opened on a GPU once; run by test_fake_gpu.py."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surplus import models
from surplus.engine.devices.machines import _MACHINES, close_machines
from surplus.engine.errors import DeviceLostError
from surplus.engine.pipeline.first_queries import ask_once
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from tests.fakes.cuda_library import FakeCuda

PARAMETERS = {"tasks": 2, "width": 8}
DEVICES = "cpu:1,cuda:0:2"
ILLEGAL_ADDRESS = 700


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """Its plan is stored, with everything on the GPU."""
    path = models.save(models.build("multi_task", **PARAMETERS), folder / "m.onnx")
    return stored(path, models.example_inputs("multi_task", **PARAMETERS))


@pytest.fixture(scope="module")
def open_sized(folder: Path) -> Path:
    """y = relu(x) of as many elements as come; stored with sizes that were made up."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy")
    node = helper.make_node("Relu", ["x"], ["y"])
    return stored(saved([node], [x], [y], [], folder / "open_sized.onnx"))


@pytest.fixture(scope="module")
def indexed(folder: Path) -> Path:
    """A table of one row: of the indices that are made up, 0 and 1, the model takes only 0."""
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 4])
    table = numpy_helper.from_array(np.ones((1, 4), np.float32), "table")
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["rows"]),
        helper.make_node("Relu", ["rows"], ["y"]),
    ]
    path = saved(nodes, [x], [y], [table], folder / "indexed.onnx")
    return stored(path, {"x": np.zeros(8, np.int64)})


def saved(nodes: list, inputs: list, outputs: list, constants: list, path: Path) -> Path:
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, constants)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def stored(path: Path, inputs: dict | None = None) -> Path:
    FakeCuda()
    assert load(path, inputs).plan.segments[0].device == 1
    close_machines()
    return path


def load(path: Path, inputs: dict | None = None, devices: str = DEVICES, **options) -> PlannedModel:
    folder = path.parent / "cache"
    options = {"cache": folder, "selection_s": 0, **options}
    return load_planned(path, devices, "single", inputs=inputs, **options)


@pytest.fixture
def fake() -> Iterator[FakeCuda]:
    library = FakeCuda()
    yield library
    close_machines()
    assert library.violations() == ""


def executed() -> int:
    """Segments and copies that the GPU has done."""
    machines = _MACHINES.by_key.values()
    return sum(machine.stats()["devices"][1]["executed"] for machine in machines)


def nodes_on_gpu(model: PlannedModel) -> int:
    return sum(segment.device == 1 for segment in model.plan.segments) + len(model.plan.copies)


@pytest.mark.parametrize("name", ["file", "open_sized"])
def test_a_stored_plan_has_run_once_when_it_is_loaded(
    fake: FakeCuda, name: str, request: pytest.FixtureRequest
) -> None:
    model = load(request.getfixturevalue(name))
    assert executed() == nodes_on_gpu(model) > 0


_LOADED = """
import sys, surplus
surplus.load(sys.argv[1], sys.argv[2], "single", cache=sys.argv[3], selection_s=0)
assert "surplus.engine.pipeline.first_queries" in sys.modules
print(sorted({"onnx", "ml_dtypes", "surplus.engine.pipeline.making"} & sys.modules.keys()))
"""


def test_a_stored_plan_is_loaded_and_asked_without_onnx(file: Path) -> None:
    command = [sys.executable, "-c", _LOADED, str(file), DEVICES, str(file.parent / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n", done.stderr


def test_given_inputs_are_asked_with(
    fake: FakeCuda, open_sized: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = load(open_sized), []
    monkeypatch.setattr(
        PlannedModel, "ask_each_plan", lambda _, inputs, timeout: asked.append(inputs)
    )
    given = {"x": np.full(3, -1, np.float32)}
    ask_once(model, open_sized, LoadParams(DEVICES, "single"), given)
    assert asked == [given]


def test_a_throughput_plan_has_run_once_too(fake: FakeCuda, file: Path) -> None:
    model = load(file)
    before = executed()
    model.accompany(ThroughputPlan(model.plan, Grounds(2, "a", 1, "a", 1, 1.0)), Departure.ALWAYS)
    model.open_throughput_plan()
    ask_once(model, file, LoadParams(DEVICES, "single"), None)
    assert executed() == before + 2 * nodes_on_gpu(model)


def test_a_model_loads_that_does_not_take_made_up_inputs(
    fake: FakeCuda, indexed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        model = load(indexed)
    assert "no query was asked ahead of the first" in caplog.text
    assert model.run({"x": np.zeros(8, np.int64)})["y"].all()


@pytest.mark.parametrize(
    ("choice", "devices"), [("fail", ()), ("cpu", ("cpu",)), ("recreate", ("cpu", "cuda:0"))]
)
def test_a_loss_meanwhile_is_one_of_the_load(
    fake: FakeCuda, file: Path, monkeypatch: pytest.MonkeyPatch, choice: str, devices: tuple
) -> None:
    original, losses = PlannedModel.ask_each_plan, [ILLEGAL_ADDRESS]

    def ask(model: PlannedModel, inputs: dict, timeout: float | None) -> None:
        if losses:
            fake.inject("execute", 2, losses.pop())
        original(model, inputs, timeout)

    monkeypatch.setattr(PlannedModel, "ask_each_plan", ask)
    if choice == "fail":
        with pytest.raises(DeviceLostError, match=r"'cuda:0' is lost: .*, while each session ran"):
            load(file, on_device_loss=choice)
    else:
        assert load(file, on_device_loss=choice).plan.devices == devices


def test_a_plan_on_the_cpu_alone_runs_nothing(fake: FakeCuda, folder: Path) -> None:
    path = folder / "m.onnx"
    load(path, devices="cpu:1")
    close_machines()
    model = load(path, devices="cpu:1")
    assert not model.has_slow_first_runs
    (machine,) = _MACHINES.by_key.values()
    assert machine.stats()["devices"][0]["executed"] == 0
