"""Random wide graphs: lengths, edges, joins, and a walk over their nodes in numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from surplus import models
from surplus.models.random_wide import RandomWideParams, branch_lengths
from tests.models.numpy_layers import Array

OPERATORS: dict[str, Callable[..., Array]] = {
    "Tanh": np.tanh,
    "Add": np.add,
    "Mul": np.multiply,
    "Sub": np.subtract,
    "Div": np.divide,
    "Neg": np.negative,
    "MatMul": np.matmul,
    "Mean": lambda *values: np.mean(values, axis=0),
    "Sum": lambda *values: np.sum(values, axis=0),
    "Concat": lambda *values: np.concatenate(values, axis=0),
}


def walked(model: onnx.ModelProto, x: Array) -> Array:
    """Compute the output node by node."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | {"x": x}
    for node in model.graph.node:
        values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input))
    return values["y"]


@pytest.mark.parametrize("kind", ["elementwise", "matmul"])
@pytest.mark.parametrize("join", ["concat", "sum", "tree"])
@pytest.mark.parametrize("cross", [0.0, 0.3])
def test_computes_what_its_nodes_say(kind: str, join: str, cross: float, run: Callable) -> None:
    params = {"width": 7, "grain": 8, "kind": kind, "join": join, "cross": cross}
    model = models.build("random_wide", **params)
    x = models.example_inputs("random_wide", grain=8)["x"]
    y = run(model, {"x": x})["y"]
    assert y.shape == (7 if join == "concat" else 1, 8)
    np.testing.assert_allclose(y, walked(model, x), rtol=1e-4, atol=1e-5)
    if join == "concat":
        # Every branch gives something of its own, and still depends on the input.
        assert len(np.unique(y.round(5), axis=0)) == 7
        assert (y.std(axis=1) > 1e-3).all()


@pytest.mark.parametrize("width", [1, 2, 5, 60, 100])
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 3.0])
def test_lengths_add_up(width: int, skew: float) -> None:
    lengths = branch_lengths(RandomWideParams(width=width, depth=4, skew=skew))
    assert len(lengths) == width
    assert sum(lengths) == 4 * width
    assert min(lengths) >= 1


def test_lengths_follow_zipf() -> None:
    assert branch_lengths(RandomWideParams(width=9, depth=5, skew=0.0)) == [5] * 9
    # 24 operators beyond one each, shared as 12 : 6 : 4 : 3, so 11.52, 17.28, 21.12, 24 summed up.
    falling = sorted(branch_lengths(RandomWideParams(width=4, depth=7, skew=1.0)))
    assert falling == [1 + 3, 1 + 4, 1 + 5, 1 + 12]
    longest = [max(branch_lengths(RandomWideParams(skew=skew))) for skew in (0.0, 0.5, 1.0, 2.0)]
    assert longest == sorted(longest)
    assert longest[-1] > 10 * longest[0]


def test_seed_draws_which_branch_is_long() -> None:
    orders = {tuple(branch_lengths(RandomWideParams(seed=seed))) for seed in range(5)}
    assert len(orders) == 5
    assert len({tuple(sorted(order)) for order in orders}) == 1


@pytest.mark.parametrize("kind", ["elementwise", "matmul"])
@pytest.mark.parametrize("cross", [0.0, 0.2])
def test_keeps_width_nodes_and_depth(kind: str, cross: float, basic_shape: Callable) -> None:
    params = {"width": 60, "depth": 3, "grain": 16, "kind": kind, "cross": cross}
    model = models.build("random_wide", **params)
    assert [node.op_type for node in model.graph.node].count("Mean") == crossings(model)
    shape = basic_shape(model)
    assert shape.nodes == 1 + 60 * 3 + 1
    assert (shape.max_in, shape.widest_level) == (60, 60)
    assert depth(model) == 2 + max(branch_lengths(RandomWideParams(width=60, depth=3)))


def crossings(model: onnx.ModelProto) -> int:
    """Operators that read another branch than their own."""
    return sum(
        len({value.split("/")[0] for value in node.input if "branch" in value}) == 2
        for node in model.graph.node
        if node.op_type != "Concat"
    )


@pytest.mark.parametrize("width", [2, 3])
def test_cross_edges_lead_to_every_other_branch(width: int) -> None:
    model = models.build("random_wide", width=width, depth=20, skew=0.0, cross=1.0, grain=4)
    assert crossings(model) == width * 19
    pairs = {
        tuple(value.split("/")[0] for value in node.input)
        for node in model.graph.node
        if node.op_type == "Mean"
    }
    # Ordered pairs of different branches, all of them drawn in 19 positions.
    assert len(pairs) == width * (width - 1)


def depth(model: onnx.ModelProto) -> int:
    """Operators on the longest path."""
    level: dict[str, int] = {}
    for node in model.graph.node:
        level[node.output[0]] = 1 + max(level.get(value, 0) for value in node.input)
    return max(level.values())


def test_cross_is_a_probability() -> None:
    ops = Counter(
        node.op_type for node in models.build("random_wide", cross=0.25, grain=4).graph.node
    )
    # 400 operators stand behind another of their branch; four deviations to each side.
    assert 65 <= ops["Mean"] <= 135
    all_cross = models.build("random_wide", cross=1.0, grain=4).graph.node
    assert Counter(node.op_type for node in all_cross)["Mean"] == 400


@pytest.mark.parametrize(("join", "operators"), [("concat", 1), ("sum", 1), ("tree", 12)])
def test_join_takes_all_branches(join: str, operators: int) -> None:
    nodes = models.build("random_wide", width=13, join=join).graph.node
    assert len(nodes) == 1 + 13 * 6 + operators


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"grain": 0}, "grain must be at least 1, got 0"),
        ({"skew": -0.1}, "skew must be within 0..10, got -0.1"),
        ({"skew": float("nan")}, "skew must be within 0..10, got nan"),
        ({"cross": 1.5}, "cross must be within 0..1, got 1.5"),
        ({"join": "max"}, "join must be one of concat, sum, tree, got 'max'"),
        ({"kind": "conv"}, "kind must be one of elementwise, matmul, got 'conv'"),
    ],
)
def test_values_out_of_range_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("random_wide", **params)
