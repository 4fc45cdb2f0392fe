"""Inputs of other scales and sizes, made from an example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.planning.varied_inputs import other_scales, other_sizes

TEXT = """<ir_version: 9, opset_import: ["" : 18]>
g (float[b, t, 4] x, int64[b] i, float[4] w) => (float[b, t, 4] y, int64[b] j) {
    y = Add(x, w)  j = Neg(i) }"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    path = tmp_path / "g.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return read(path, tmp_path / "cache")


def example(rows: int = 1) -> dict[str, np.ndarray]:
    return {
        "x": np.ones((rows, 2, 4), np.float32),
        "i": np.arange(rows),
        "w": np.ones(4, np.float32),
    }


def test_scales_change_what_is_no_integer() -> None:
    for given in other_scales(example()):
        assert given["i"].tolist() == [0]
        assert given["x"].dtype == np.float32
        assert not np.array_equal(given["x"], example()["x"])


def test_more_rows_of_other_magnitudes_and_more_of_what_else_is_open(graph: Graph) -> None:
    found = list(other_sizes(graph, example()))
    assert [given["x"].shape for given in found] == [(3, 2, 4), (8, 2, 4), (1, 6, 4)]
    assert [given["i"].shape for given in found] == [(3,), (8,), (1,)]
    assert all(given["w"].shape == (4,) for given in found)
    assert found[0]["x"][:, 0, 0].tolist() == [1, 0.5, 0.25]


def test_fewer_rows_than_the_example_has(graph: Graph) -> None:
    sizes = [given["x"].shape[0] for given in other_sizes(graph, example(8))]
    assert sizes == [3, 1, 8]


def test_nothing_where_no_size_is_open(tmp_path: Path) -> None:
    path = tmp_path / "g.onnx"
    text = TEXT.replace("b, t", "1, 2").replace("[b]", "[1]")
    onnx.save(onnx.parser.parse_model(text), path)
    assert not list(other_sizes(read(path, tmp_path / "cache"), example()))
