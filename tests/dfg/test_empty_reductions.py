"""What a segment declares of values that go back to a reduction."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from engine.dfg.empty_reductions import declared_type
from engine.dfg.extract import extract
from engine.dfg.graph import Graph
from engine.dfg.onnx_reader import read

MODEL = """
<ir_version: 8, opset_import: ["" : 14]>
g (float[n, 4] x, float[2, 4] z) => (float[n, 4] y, float[2, 1] fixed) {
    mean = ReduceMean <axes = [-1]> (x)
    root = Sqrt(mean)
    wide = Sub(x, root)
    best = ArgMax <axis = -1> (wide)
    chosen = Cast <to = 1> (best)
    y = Add(wide, chosen)
    sum = ReduceMax <axes = [-1]> (z)
    fixed = Neg(sum)
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
    ],
)
def test_declared_extents(graph: Graph, name: str, dims: list[int | str | None]) -> None:
    assert _dims(declared_type(graph, name)) == dims


def test_segments_declare_them(graph: Graph) -> None:
    root = next(i for i, task in enumerate(graph.tasks) if task.op_type == "Sqrt")
    (value,) = extract(graph, [root]).graph.input
    assert _dims(value.type) == ["n", None]
    assert _dims(graph.value_types["mean"]) == ["n", 1]
