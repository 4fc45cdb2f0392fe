"""``--input`` and ``--range``: what they say, and what they refuse."""

from __future__ import annotations

import pytest

from surplus.engine.convert.input_spec import Axis, InputSpec, example_sizes, parse_inputs
from surplus.engine.errors import ConfigError


def test_fixed_shape() -> None:
    (spec,) = parse_inputs(["image:1x3x224x224:float32"])
    assert spec == InputSpec("image", (Axis(1), Axis(3), Axis(224), Axis(224)), "float32")
    assert spec.dynamic == {}


@pytest.mark.parametrize("shape", ["batchx3xtime=7", "batch,3,time=7"])
def test_words_are_dynamic_axes(shape: str) -> None:
    (spec,) = parse_inputs([f"x:{shape}:int64"])
    assert spec.axes == (Axis(2, "batch"), Axis(3), Axis(7, "time"))
    assert spec.dynamic == {0: "batch", 2: "time"}
    assert spec.shape({"batch": 5, "time": 1}) == (5, 3, 1)


def test_commas_allow_an_x_in_a_name() -> None:
    (spec,) = parse_inputs(["x:text,3:float32"])
    assert spec.dynamic == {0: "text"}


def test_an_empty_shape_is_a_scalar() -> None:
    (spec,) = parse_inputs(["scale::float32"])
    assert spec.shape({}) == ()


def test_axes_of_one_name_share_their_size() -> None:
    specs = parse_inputs(["a:nx1:float32", "b:n=4:float32", "c:m:bool"])
    assert example_sizes(specs) == {"n": 4, "m": 2}


def test_range() -> None:
    (spec,) = parse_inputs(["tokens:4:int64"], ["tokens=0:30522"])
    assert (spec.low, spec.high) == (0, 30522)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image", "expected NAME:SHAPE:DTYPE"),
        ("image:1x3", "expected NAME:SHAPE:DTYPE"),
        ("a:b:1:float32", "expected NAME:SHAPE:DTYPE"),
        (":1:float32", "'' is not a name"),
        ("1a:1:float32", "'1a' is not a name"),
        ("a:1:float", "unknown element type 'float'; there are: float32"),
        ("a:1xx2:float32", "'' is neither a size nor a name"),
        ("a:-1:float32", "'-1' is neither"),
        ("a:0:float32", "expected a size >= 1, got '0'"),
        ("a:n=0:float32", "expected a size >= 1, got '0'"),
        ("a:n=:float32", "expected a size >= 1, got ''"),
        ("a:n=m:float32", "expected a size >= 1, got 'm'"),
        ("a:99999999999:float32", "expected a size >= 1"),
        ("a:²:float32", "'²' is neither"),
    ],
)
def test_malformed_input(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_inputs([text])
    assert message in str(raised.value)
    assert f"--input {text}" in str(raised.value)


def test_inputs_that_contradict_each_other() -> None:
    with pytest.raises(ConfigError, match="--input a: given twice"):
        parse_inputs(["a:1:bool", "a:2:bool"])
    with pytest.raises(ConfigError, match="n is 3 before, now 4"):
        parse_inputs(["a:n=3:bool", "b:n=4:bool"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "expected NAME=LOW:HIGH"),
        ("a=1", "expected NAME=LOW:HIGH"),
        ("a=x:y", "expected NAME=LOW:HIGH"),
        ("b=0:1", "no --input b; there are: a, u, t"),
        ("a=1:1", "LOW < HIGH"),
        ("a=2:1", "LOW < HIGH"),
        ("a=nan:1", "finite LOW < HIGH"),
        ("a=0:inf", "finite LOW < HIGH"),
        ("u=0:257", "beyond uint8, 0..255"),
        ("u=-1:2", "beyond uint8"),
        ("u=0:1.5", "needs whole numbers"),
        ("t=0:1", "is bool and has no range"),
    ],
)
def test_malformed_range(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_inputs(["a:1:float32", "u:1:uint8", "t:1:bool"], [text])
    assert message in str(raised.value)


def test_range_given_twice() -> None:
    with pytest.raises(ConfigError, match="--range a: given twice"):
        parse_inputs(["a:1:float32"], ["a=0:1", "a=0:2"])
