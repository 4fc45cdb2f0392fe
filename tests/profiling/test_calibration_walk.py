"""Which tasks a calibration run executes, and what it costs where there are very many."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ExecutionError
from surplus.engine.profiling import calibrate as calibrating
from surplus.engine.profiling import calibration_values
from surplus.engine.profiling.calibrate import calibrate
from surplus.engine.profiling.profiler import profile_graph
from surplus.engine.profiling.signature import Observed, signature
from tests.counted_calls import LINEAR, CountedName, calls_of, touches_of

HEADER = '<ir_version: 9, opset_import: ["" : 18]>'
INPUTS = {"x": np.arange(4, dtype=np.float32).reshape(1, 4) - 1}


def _text(body: str, shape: str, end: str) -> str:
    rows = body.replace(";", "\n")
    return f"{HEADER} g ({shape} x) => ({end} y) {{ {rows} }}"


def model(tmp_path: Path, body: str, shape: str = "float[1, 4]", end: str = "float[1, 4]") -> Graph:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(_text(body, shape, end)), path)
    return read(path, tmp_path / "cache")


def chain(tmp_path: Path, length: int) -> Graph:
    kinds = ("Neg", "Abs", "Sin")
    names = ["x", *(f"t{i}" for i in range(length - 1)), "y"]
    rows = [f"{names[i + 1]} = {kinds[i % 3]}({names[i]})" for i in range(length)]
    return model(tmp_path, "; ".join(rows))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes each session has that calibration opens."""
    found: list[int] = []
    for module in (calibrating, calibration_values):
        real = module.open_session

        def open_session(content: Any, real: Any = real, **options: Any) -> Any:
            found.append(len(onnx.ModelProto.FromString(content).graph.node))
            return real(content, **options)

        monkeypatch.setattr(module, "open_session", open_session)
    return found


def timer(session, inputs, repeats, budget_ns, warmup) -> list[int]:
    return [1000] * 3


@pytest.mark.parametrize("length", [30, 300])
def test_equal_operators_are_executed_once(length: int, tmp_path: Path, opened: list[int]) -> None:
    graph = chain(tmp_path, length)
    profile = profile_graph(graph, parse_devices("cpu:1"), INPUTS, timer=timer)
    assert len(profile.tasks) == length
    assert opened == [1, 1, 1]


def test_what_waits_runs_many_in_a_session(tmp_path: Path, opened: list[int]) -> None:
    """Only the last task is measured: its input is what all before it make."""
    graph = chain(tmp_path, 200)
    *_, last = calibrate(graph, INPUTS)
    assert opened == []
    (given,) = last.inputs.values()
    assert opened == [64, 64, 64, 7]
    expected = INPUTS["x"]
    for index in range(199):
        expected = (np.negative, np.abs, np.sin)[index % 3](expected)
    np.testing.assert_allclose(given.to_numpy(), expected, rtol=1e-6)


def test_only_what_leads_to_a_task_runs_for_it(tmp_path: Path, opened: list[int]) -> None:
    graph = model(tmp_path, "a = Neg(x); b = Abs(x); c = Sin(a); d = Sin(b); y = Add(c, d)")
    steps = list(calibrate(graph, INPUTS))
    makers = [graph.tensors[task.outputs[0]].name for task in graph.tasks]
    place = makers.index("d")
    assert set(steps[place].inputs) == {"b"}
    assert opened == [1]


def test_sizes_that_only_execution_tells_are_those_of_the_real_values(tmp_path: Path) -> None:
    body = "a = Abs(x); n = NonZero(a); m = Neg(n); y = Cast<to = 1>(m)"
    graph = model(tmp_path, body, end="float[2, k]")
    *_, last = calibrate(graph, INPUTS)
    assert last.seen["m"].shape == (2, 3)
    assert last.seen["y"].size_bytes == 24


def test_a_task_that_fails_while_others_wait_is_named(tmp_path: Path) -> None:
    """Gather: there is no row 4, which nobody knows before the sum is made."""
    body = (
        "a = Neg(x); n = Abs(a); z = ReduceSum<keepdims = 0>(n); f = Cast<to = 7>(z);"
        " g = Gather(n, f); y = Neg(g)"
    )
    graph = model(tmp_path, body, end="float[4]")
    with pytest.raises(ExecutionError, match=r"task 'Gather:g' failed in calibration"):
        _ = [step.inputs for step in calibrate(graph, INPUTS)]


def test_a_walk_over_twice_the_tasks_is_twice_the_work(tmp_path: Path) -> None:
    def walked(length: int) -> int:
        (tmp_path / str(length)).mkdir()
        graph = chain(tmp_path / str(length), length)
        assert len(graph.predecessors) == length  # from here on it is at hand
        return calls_of(lambda: list(calibrate(graph, INPUTS)))

    assert walked(400) < LINEAR * walked(200)


def test_a_signature_of_twice_the_inputs_is_twice_the_work(tmp_path: Path) -> None:
    graph = chain(tmp_path, 1)

    def touched(count: int) -> int:
        names = [CountedName(f"v{i}") for i in range(count)]
        node = SimpleNamespace(op_type="Concat", domain="", input=names, output=["y"], attribute=[])
        held = tuple(names[: count // 2])
        task = SimpleNamespace(node=node, initializers=held, is_control_flow=False)
        graph.initializers.update((name, onnx.TensorProto(data_type=1)) for name in held)
        seen = {name: Observed(1, (1,), 4) for name in names}
        return touches_of(lambda: signature(graph, task, seen))

    assert touched(400) < LINEAR * touched(200)
