"""Sizes that are made up for open dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.examples.made_up import example_inputs
from surplus.engine.examples.open_dims import open_dims
from surplus.engine.planning.stages import read_model

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'


def _graph(inputs: str, folder: Path, body: str = "y = Identity(x)") -> Graph:
    text = f"{HEADER}g ({inputs}) => (y) {{ {body} }}"
    model = onnx.parser.parse_model(text.replace("=> (y)", "=> (float[q] y)"))
    kept = model.graph.input[0].type
    if "Identity" in body:
        model.graph.output[0].type.CopyFrom(kept)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "unnamed":
                dim.Clear()
    path = folder / "model.onnx"
    onnx.save(model, path)
    return read_model(path, folder / "cache")


def _shape(graph: Graph, dims: Mapping[str, int] | None = None) -> tuple[int, ...]:
    found = example_inputs(graph, graph.folder / "elsewhere.onnx", None, dims)
    shape: tuple[int, ...] = found["x"].shape
    return shape


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("float[n, 3, h, w] x", (1, 3, 224, 224)),
        ("float[n, 3, unnamed, unnamed] x", (1, 3, 224, 224)),
        ("uint8[n, h, w, 3] x", (1, 224, 224, 3)),
        ("float[3, h, w] x", (3, 224, 224)),
        ("float[n, 3, 32, w] x", (1, 3, 32, 224)),
        ("float[n, c, 5, 5] x", (1, 1, 5, 5)),
        ("int64[n, length] x", (1, 128)),
        ("int64[n] x", (1,)),
        ("float[n, features] x", (1, 1)),
        ("float[n, length, 64] x", (1, 1, 64)),
    ],
)
def test_usual_sizes(declared: str, expected: tuple[int, ...], tmp_path: Path) -> None:
    assert _shape(_graph(declared, tmp_path)) == expected


def test_known_sizes_come_first(tmp_path: Path) -> None:
    graph = _graph("float[n, 3, h, unnamed] x", tmp_path)
    assert open_dims(graph) == ["h", "n", "x.3"]
    assert _shape(graph, {"h": 40, "x.3": 0, "n": 2}) == (2, 3, 40, 0)
    assert _shape(graph, {"h": 40}) == (1, 3, 40, 224)


def test_an_unknown_dimension(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"dimension 'x\.1'; there are: h, n, x\.3"):
        _shape(_graph("float[n, 3, h, unnamed] x", tmp_path), {"x.1": 5})


@pytest.mark.parametrize(("longest", "expected"), [(200, 128), (20, 16), (4, 1)])
def test_what_the_model_does_not_take_is_tried_smaller(
    longest: int, expected: int, tmp_path: Path
) -> None:
    # Adding a table of positions cut to the length fails beyond its end, as in a transformer.
    table = ", ".join(["0.5"] * longest)
    body = f"""
        s = Shape(x)
        one = Constant <value = int64[1] {{1}}> ()
        two = Constant <value = int64[1] {{2}}> ()
        zero = Constant <value = int64[1] {{0}}> ()
        length = Slice(s, one, two)
        table = Constant <value = float[{longest}] {{{table}}}> ()
        cut = Slice(table, zero, length)
        values = Cast <to = 1> (x)
        y = Add(values, cut)
    """
    graph = _graph("int64[n, length] x", tmp_path, body)
    assert _shape(graph) == (1, expected)
