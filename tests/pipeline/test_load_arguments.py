"""What `load` is called with by mistake is named as the mistake that it is."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

import surplus
from surplus.engine.errors import ConfigError
from surplus.engine.pipeline.loading import check_spelling
from surplus.placement.policy import policy_names, policy_options


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (["a.onnx", "b.onnx"], "the path of an ONNX file, not list"),
        (b"\x08\x08", "not bytes"),
        (None, "not NoneType"),
        (onnx.ModelProto(), r"not ModelProto; onnx.save\(model, 'model.onnx'\) writes one"),
    ],
)
def test_what_is_no_path(path: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        surplus.load(path)


@pytest.mark.parametrize(
    ("given", "meant"), [("device", "devices"), ("tunes", "tune_s"), ("input", "inputs")]
)
def test_an_option_that_is_nearly_one_of_loads(given: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"no option '{given}'; did you mean '{meant}'"):
        surplus.load("model.onnx", **{given: "cpu:1"})


@pytest.mark.parametrize("policy", policy_names())
def test_no_option_of_a_policy_is_taken_for_a_mistake(policy: str) -> None:
    check_spelling(policy_options(policy))
