"""What makes a stored measurement another one, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from surplus.engine.devices import host as machine
from surplus.engine.dfg.content import Content, GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.profiling import cpu_profiler
from surplus.engine.profiling.calibrate import calibrate
from surplus.engine.profiling.cpu_profiler import CpuProfiler, ProfilingParams
from surplus.engine.profiling.signature import Observed, signature
from surplus.engine.profiling.timing_store import TimingStore

NEG = '<ir_version: 9, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { y = Neg(x) }'


def _signature(model: onnx.ModelProto, shape: tuple[int, ...] = (4,)) -> str:
    """Of the first node, which reads ``x`` of a shape and makes ``y`` of the same."""
    node = model.graph.node[0]
    graph = _bare(model)
    task = GraphTask("t", node, (), (), tuple(t.name for t in model.graph.initializer))
    value = Observed(onnx.TensorProto.FLOAT, shape, 16)
    return signature(graph, task, {"x": value, "z": value, "y": value})


def _bare(model: onnx.ModelProto) -> Graph:
    content = Content((), (), (), (), model)
    return Graph("g", Path("model.onnx"), "", lambda: content)


def _node(op: str, *inputs: str, opset: int = 18, weight: Any = None, name: str = "n",
          **attributes: Any) -> onnx.ModelProto:  # fmt: skip
    node = helper.make_node(op, list(inputs), ["y"], name=name, **attributes)
    held = [] if weight is None else [numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph([node], "g", [], [], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


ONES = np.ones((4, 4), np.float32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_node("Neg", "x"), _node("Abs", "x")),
        (_node("Neg", "x"), _node("Neg", "x", opset=17)),
        (_node("Softmax", "x", axis=0), _node("Softmax", "x", axis=1)),
        (_node("MatMul", "x", "w", weight=ONES), _node("MatMul", "x", "w", weight=ONES[:, :2])),
        (_node("MatMul", "x", "w", weight=ONES), _node("MatMul", "x", "z")),
        (_node("Add", "x", "z"), _node("Add", "x", "x")),
    ],
)
def test_what_makes_another_measurement(one: onnx.ModelProto, other: onnx.ModelProto) -> None:
    assert _signature(one) != _signature(other)


def test_what_makes_the_same_measurement() -> None:
    one = _node("MatMul", "x", "w", weight=ONES)
    assert _signature(one) == _signature(_node("MatMul", "x", "w", weight=ONES * 3, name="m"))
    assert _signature(one) == _signature(_node("MatMul", "z", "w", weight=ONES))


def test_shapes_and_types_make_another_measurement() -> None:
    model = _node("Neg", "x")
    assert len({_signature(model, shape) for shape in ((4,), (2, 2), (5,), (0,), ())}) == 5


class Asked(TimingStore):
    """A store that notes the keys that it is asked for."""

    def __init__(self) -> None:
        super().__init__(None)
        self.keys: list[str] = []

    def get(self, key: str) -> Any:
        self.keys.append(key)
        return super().get(key)


def _keys(graph: Graph, width: int, rows: int = 1) -> set[str]:
    """Keys of the profile of a graph at one width."""
    store = Asked()
    params = ProfilingParams(1, 1, 1, 1)
    profiler = CpuProfiler(graph, store, params, lambda *_: [1])
    inputs = {"x": np.ones(rows, np.float32)}
    for step in calibrate(graph, inputs):
        task = graph.tasks[step.task]
        profiler.task_time(step, signature(graph, task, step.seen), width)
    profiler.whole_model_time(inputs, width)
    return set(store.keys)


@pytest.fixture
def dynamic(tmp_path: Path) -> Graph:
    path = tmp_path / "neg.onnx"
    onnx.save(onnx.parser.parse_model(NEG), path)
    return read_model(path, tmp_path / "cache")


def test_a_measurement_is_of_one_width_shape_and_machine(
    dynamic: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _keys(dynamic, 1)
    assert _keys(dynamic, 1) == first
    shared = {key for key in first if key.startswith("least session overhead|cpu|1|")}
    assert len(shared) == 1
    assert _keys(dynamic, 2) & first == shared
    assert _keys(dynamic, 1, rows=2) & first == shared
    monkeypatch.setattr(cpu_profiler, "machine_fingerprint", lambda: "another")
    assert not _keys(dynamic, 1) & first


# --- machines ---


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "another"},
        {"cores": 999},
        {"runtime_version": "99.0.0"},
        {"driver": "another"},
    ],
)
def test_a_machine_is_its_hardware_and_software(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine.this_machine()
    before = machine.machine_fingerprint()
    monkeypatch.setattr(machine, "this_machine", lambda: replace(here, **change))
    assert machine.machine_fingerprint() != before


def test_a_machines_name_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.machine_fingerprint()
    monkeypatch.setattr(machine.platform, "node", lambda: "renamed")
    assert machine.machine_fingerprint() == before
