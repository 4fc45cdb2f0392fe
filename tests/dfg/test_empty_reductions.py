"""What a segment declares of values that go back to a reduction."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from surplus.engine.dfg.empty_reductions import declared_type
from surplus.engine.dfg.extract import extract
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.join import PartialJoin
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.dfg.partial_join import joined_type

MODEL = """
<ir_version: 8, opset_import: ["" : 14]>
g (float[n, 4] x, float[2, 4] z) => (float[n, 4] y, float[2, 1] fixed, float[n, 2] flat) {
    mean = ReduceMean <axes = [-1]> (x)
    root = Sqrt(mean)
    wide = Sub(x, root)
    best = ArgMax <axis = -1> (wide)
    chosen = Cast <to = 1> (best)
    y = Add(wide, chosen)
    sum = ReduceMax <axes = [-1]> (z)
    fixed = Neg(sum)
    dropped = ReduceMean <axes = [-1], keepdims = 0> (x)
    after = Exp(dropped)
    column = Constant <value_ints = [-1, 1]> ()
    standing = Reshape(after, column)
    twice = Concat <axis = 1> (standing, standing)
    flat = Neg(twice)
    whole = ReduceMax <axes = [-1], keepdims = 0> (z)
    size = Shape(after)
}
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "g.onnx")
    return read(tmp_path / "g.onnx", tmp_path / "cache")


def _dims(kind: onnx.TypeProto | None) -> list[int | str | None]:
    assert kind is not None
    shape = kind.tensor_type.shape.dim
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in shape]


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("mean", ["n", None]),
        ("root", ["n", None]),
        ("wide", ["n", 4]),
        ("best", ["n", None]),
        ("chosen", ["n", None]),
        ("x", ["n", 4]),
        ("sum", [2, 1]),  # never empty
        ("whole", [2]),
        ("size", [1]),
    ],
)
def test_declared_extents(graph: Graph, name: str, dims: list[int | str | None]) -> None:
    assert _dims(declared_type(graph, name)) == dims


@pytest.mark.parametrize("name", ["dropped", "after"])
def test_ranks_are_not_declared_behind_dropped_axes(graph: Graph, name: str) -> None:
    kind = declared_type(graph, name)
    assert kind is not None
    assert kind.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert not kind.tensor_type.HasField("shape")


def test_a_reshape_has_the_rank_that_it_says(graph: Graph) -> None:
    assert len(_dims(declared_type(graph, "standing"))) == 2


@pytest.mark.parametrize("name", ["mean", "dropped"])
def test_partial_joins_do_not_declare_them(graph: Graph, name: str) -> None:
    kind = joined_type(graph, PartialJoin("part", 0, (name, name)))
    assert not kind.tensor_type.HasField("shape")


def test_segments_declare_them(graph: Graph) -> None:
    root = next(i for i, task in enumerate(graph.tasks) if task.op_type == "Sqrt")
    (value,) = extract(graph, [root]).graph.input
    assert _dims(value.type) == ["n", None]
    assert _dims(graph.value_types["mean"]) == ["n", 1]
