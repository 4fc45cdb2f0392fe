"""Random inputs: seeded, of the type, shape and range that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.engine.convert.input_spec import DTYPES, parse_inputs
from surplus.engine.convert.samples import draw, given, other_sizes
from surplus.engine.errors import ConfigError


@pytest.mark.parametrize("dtype", DTYPES)
def test_type_shape_and_seed(dtype: str) -> None:
    specs = parse_inputs([f"x:nx500:{dtype}"])
    first, same, other = (draw(specs, seed, {"n": 3}).inputs["x"] for seed in (1, 1, 2))
    assert (first.shape, first.dtype) == ((3, 500), DTYPES[dtype])
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int64", 0, 1), ("int32", 0, 1), ("uint8", 0, 255), ("int8", -128, 127), ("bool", 0, 1)],
)
def test_default_ranges_of_integers(dtype: str, low: int, high: int) -> None:
    x = draw(parse_inputs([f"x:20000:{dtype}"]), 0, {}).inputs["x"]
    assert (x.min(), x.max()) == (low, high)


def test_floats_have_both_signs() -> None:
    x = draw(parse_inputs(["x:1000:float32"]), 0, {}).inputs["x"]
    assert x.min() < -1 < 1 < x.max()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_ranges_leave_the_end_out(dtype: str) -> None:
    x = draw(parse_inputs([f"x:1000:{dtype}"], ["x=-3:7"]), 0, {}).inputs["x"]
    assert x.min() >= -3
    assert x.max() < 7
    assert len(np.unique(x)) >= 10


def test_scalar() -> None:
    assert draw(parse_inputs(["x::float32"]), 0, {}).inputs["x"].shape == ()


def test_other_sizes_of_every_axis() -> None:
    specs = parse_inputs(["x:batchxtime=7:float32", "y:batchxone=1:float32"])
    assert other_sizes(specs) == {"batch": [3, 4, 1], "time": [8, 14, 1], "one": [2]}


def test_labels() -> None:
    specs = parse_inputs(["x:n:float32"])
    assert draw(specs, 3, {"n": 5}).label == "seed 3, n=5"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "it has no x, y"),
        ({"x": np.ones((2, 3)), "y": np.ones(2), "z": np.ones(2)}, "no --input is called z"),
        ({"x": np.ones((2, 3)), "y": np.ones(2)}, "x is float64, not float32"),
        ({"x": np.ones((2, 4), "f"), "y": np.ones(2, "f")}, r"x has shape \(2, 4\), not \(n, 3\)"),
        ({"x": np.ones((2, 3), "f"), "y": np.ones(4, "f")}, r"y has shape \(4,\), not \(n\)"),
        ({"x": np.ones((0, 3), "f"), "y": np.ones(0, "f")}, r"x has shape \(0, 3\)"),
    ],
)
def test_given_inputs_that_do_not_fit(arrays: dict[str, np.ndarray], message: str) -> None:
    specs = parse_inputs(["x:nx3:float32", "y:n:float32"])
    with pytest.raises(ConfigError, match=f"^--inputs mine.npz: {message}"):
        given(specs, arrays, "mine.npz")
