"""Declared shapes are those that every query has, and that ONNX Runtime computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.native import open_session
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.values import from_value, to_value
from tests.constant_costs import constant_problem, scattered_plan

SPECS = parse_devices("cpu:2")


def _read(tmp_path: Path, model: onnx.ModelProto) -> Graph:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return read(path, tmp_path / "cache")


def _check(graph: Graph, model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> None:
    """Every task a segment of its own answers as the whole file does."""
    plan = scattered_plan(graph, constant_problem(graph, SPECS), 0)
    found = PlannedModel(graph, plan, machine_for(SPECS)).run(inputs)
    plain = open_session(model.SerializeToString(), level="disable_all")
    right = plain.run({n: to_value(a) for n, a in inputs.items()})
    for name, value in zip(plain.output_names, right, strict=True):
        np.testing.assert_allclose(found[name], from_value(value), rtol=1e-5, atol=1e-6)


def _recurrence(stated: int) -> onnx.ModelProto:
    """As an exporter writes it that saw so many steps: the inputs open, the rest not."""
    rng = np.random.default_rng(0)
    factors = [
        onnx.numpy_helper.from_array((rng.standard_normal(s) / 2).astype(np.float32), n)
        for n, s in (("w", (1, 12, 4)), ("r", (1, 12, 3)))
    ]
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["h"], hidden_size=3),
        helper.make_node("Squeeze", ["h", "one"], ["s"]),
        helper.make_node("Tanh", ["s"], ["y"]),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "stale",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["time", 2, 4])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [stated, 2, 3]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, ["time", 2, 3]),
        ],
        [*factors, onnx.numpy_helper.from_array(np.array([1]), "one")],
        value_info=[
            helper.make_tensor_value_info("h", TensorProto.FLOAT, [stated, 1, 2, 3]),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [stated, 2, 3]),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("time", [1, 5, 17])
def test_sizes_that_an_exporter_saw_bind_no_query(tmp_path: Path, time: int) -> None:
    model = _recurrence(17)
    graph = _read(tmp_path, model)
    _check(graph, model, {"x": np.ones((time, 2, 4), np.float32)})
    of = {tensor.name: tensor.shape for tensor in graph.tensors}
    for name in ("h", "s", "y"):
        shape = of[name]
        assert shape is not None
        assert 17 not in shape
        assert len(shape) == (4 if name == "h" else 3)


POOLED = """<ir_version: 9, opset_import: ["" : 19]>
pooled (float[{batch},2,{side},{side}] x) => (float[M,N,O,P] y)
{{ a = Abs(x)
   p = {pool}<kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], ceil_mode=1>(a)
   b = Neg(p)
   y = Tanh(b)
}}"""


@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("batch", ["1", "N"])
@pytest.mark.parametrize(("side", "kernel", "stride"), [(4, 1, 2), (5, 1, 2), (7, 2, 3), (6, 3, 2)])
def test_pools_that_round_up(
    tmp_path: Path, pool: str, batch: str, side: int, kernel: int, stride: int
) -> None:
    text = POOLED.format(pool=pool, batch=batch, side=side, kernel=kernel, stride=stride)
    model = onnx.parser.parse_model(text)
    rows = 1 if batch == "1" else 3
    x = np.random.default_rng(0).standard_normal((rows, 2, side, side)).astype(np.float32)
    _check(_read(tmp_path, model), model, {"x": x})


@pytest.mark.parametrize(
    ("given", "slope"), [("2,1,3", (4, 1)), ("1", (3,)), ("2,3", (5, 1, 3)), ("N,1", (1, 4))]
)
def test_slopes_that_broadcast_the_input(
    tmp_path: Path, given: str, slope: tuple[int, ...]
) -> None:
    text = f"""<ir_version: 9, opset_import: ["" : 17]>
    slopes (float[{given}] x, float[{",".join(map(str, slope))}] s) => (float[M] y)
    {{ a = Neg(x) p = PRelu(a, s) y = Tanh(p) }}"""
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    shape = [2 if d == "N" else int(d) for d in given.split(",")]
    x = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    _check(_read(tmp_path, model), model, {"x": x, "s": np.full(slope, 0.3, np.float32)})


def test_what_is_right_is_kept(tmp_path: Path) -> None:
    """Shapes are what fusions and splits of the batch go by."""
    text = POOLED.format(pool="MaxPool", batch="1", side=6, kernel=2, stride=2)
    graph = _read(tmp_path, onnx.parser.parse_model(text))
    of = {tensor.name: tensor.shape for tensor in graph.tensors}
    assert (of["p"], of["b"]) == ((1, 2, 3, 3), (1, 2, 3, 3))
    assert {node.domain for node in graph.model.graph.node} == {""}


OVERRIDDEN = """<ir_version: 9, opset_import: ["" : 18]>
sized (float[n] x, int64[2] sizes) => (float[a, b] y) <int64[2] sizes = {2, 4}> {
    r = Reshape(x, sizes)
    s = Neg(r)
    y = Relu(s)
}"""


def test_sizes_that_a_query_may_override_are_not_declared(tmp_path: Path) -> None:
    graph = _read(tmp_path, onnx.parser.parse_model(OVERRIDDEN))
    assert graph.default_inputs == ("sizes",)
    plan = scattered_plan(graph, constant_problem(graph, SPECS), 0)
    model = PlannedModel(graph, plan, machine_for(SPECS))
    x = np.arange(8, dtype=np.float32)
    assert model.run({"x": -x})["y"].shape == (2, 4)
    assert model.run({"x": -x, "sizes": np.array([4, 2])})["y"].shape == (4, 2)


STALE = """<ir_version: 9, opset_import: ["" : 18]>
stale (float[4, 3] x) => (float[1, 3] y) <float[1, 3] a, float[1, 3] b> {
    a = Neg(x)
    b = Relu(a)
    y = Abs(b)
}"""


def test_a_batch_that_was_changed_in_the_inputs_alone(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(STALE)
    graph = _read(tmp_path, model)
    assert [tensor.shape for tensor in graph.tensors] == [(4, 3)] * 4
    _check(graph, model, {"x": np.arange(12, dtype=np.float32).reshape(4, 3) - 6})


def test_sizes_that_nothing_contradicts_are_kept(tmp_path: Path) -> None:
    """Inference knows nothing of this operator."""
    text = """<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>
    fixed (float[2, 8] x) => (float[2, 8] y) <float[2, 8] a> {
        a = com.microsoft.QuickGelu(x)
        y = Neg(a) }"""
    graph = _read(tmp_path, onnx.parser.parse_model(text))
    assert [tensor.shape for tensor in graph.tensors] == [(2, 8)] * 3
