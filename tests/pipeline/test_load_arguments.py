"""What `load` is called with: all that is a model, and mistakes, named as what they are."""

from __future__ import annotations

import inspect
import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine.errors import ConfigError, DeviceError
from surplus.engine.planning.load_options import LoadOptions, check_known
from surplus.engine.planning.load_params import LoadParams
from surplus.placement.policy import policy_names, policy_options
from tests.pipeline.subject import Subject


class Located:
    """A path that is neither text nor ``Path``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


@pytest.mark.parametrize(
    "given",
    [
        Located,
        os.fspath,
        Path.read_bytes,
        lambda path: bytearray(path.read_bytes()),
        onnx.load,
    ],
    ids=["PathLike", "text", "bytes", "bytearray", "ModelProto"],
)
def test_all_that_is_a_model_loads(given: Any, shared: Subject) -> None:
    asked: dict[str, Any] = {"cache": shared.cache, "selection_s": 0}
    model = surplus.load(given(shared.path), "cpu:1", "single", **asked)
    (spec,) = model.inputs
    shape = [d if isinstance(d, int) else 1 for d in spec.shape or ()]
    answer = model.run({spec.name: np.zeros(shape, spec.dtype)})
    assert list(answer) == [output.name for output in model.outputs]


@pytest.mark.parametrize("path", [["a.onnx", "b.onnx"], None, 3])
def test_what_is_no_path(path: Any) -> None:
    kind = type(path).__name__
    message = f"the path of an ONNX file, bytes or a ModelProto, not {kind}"
    with pytest.raises(TypeError, match=message):
        surplus.load(path)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("device", "devices"), ("tunes", "tune_s"), ("input", "inputs"), ("kernals", "kernels")],
)
def test_an_option_that_is_nearly_one_of_loads(given: str, meant: str) -> None:
    options: dict[str, Any] = {given: "cpu:1"}
    with pytest.raises(ConfigError, match=f"no option '{given}'; did you mean '{meant}'"):
        surplus.load("model.onnx", **options)


def test_an_option_that_is_nobodys() -> None:
    options: dict[str, Any] = {"threads": 2}
    message = r"^load has no option 'threads'; surplus\.LoadParams lists"
    with pytest.raises(ConfigError, match=message):
        surplus.load("model.onnx", **options)


@pytest.mark.parametrize("policy", policy_names())
def test_no_option_of_a_policy_is_taken_for_a_mistake(policy: str) -> None:
    check_known(policy_options(policy), policy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune_s": "20"}, "tune_s must be a number, got '20'"),
        ({"tune_s": True}, "tune_s must be a number, got True"),
        ({"devices": 2}, "devices must be text such as 'cpu:2', got 2"),
        ({"devices": ["cpu:1"]}, r"devices must be text such as 'cpu:2', got \['cpu:1'\]"),
        ({"relaxed_numerics": "no"}, "relaxed_numerics must be True or False, got 'no'"),
        ({"same_bits": "no"}, "relaxed_numerics must be True or False, got 'no'"),
        ({"max_wait_ms": "long"}, "max_wait_s must be a number, got 'long'"),
        ({"finalists": 2.5}, "finalists must be a whole number, got 2.5"),
        ({"finalists": 0}, "finalists must be 1 to 1000, got 0"),
        ({"max_load_s": -1}, "max_load_s must be 0 to 1e\\+06, got -1"),
        ({"priority": "high"}, "priority must be a whole number, got 'high'"),
        ({"priority": 2**31}, "priority must be -2147483648 to 2147483647"),
        ({"max_batch": -1}, "max_batch must be 0 to"),
        ({"deadline_s": -5}, "deadline_s must be above 0"),
        ({"deadline_s": "soon"}, "deadline_s must be a number, got 'soon'"),
        ({"kernels": 3}, "kernels must be text, got 3"),
        ({"cache": 5}, "cache must be a path, got 5"),
        ({"tune": "never"}, "tune must be one of"),
        ({"policy_options": 3}, "policy_options must be a mapping, got 3"),
        ({"custom_operators": 3}, "custom_operators must be a sequence of text, got 3"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is called:DeprecationWarning")
def test_values_of_a_wrong_type_or_size(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        surplus.load("model.onnx", **options)


@pytest.mark.parametrize("devices", ["cpu:99999", "cpu:999", "tpu", "cpu:0", "cuda:x"])
def test_what_is_wrong_with_devices_is_short(devices: str) -> None:
    with pytest.raises(DeviceError) as caught:
        LoadParams(devices=devices).specs()
    assert len(str(caught.value)) < 200
    assert devices in str(caught.value)


@pytest.mark.parametrize(
    ("old", "value", "new", "now"),
    [
        ("policy", "heft", "placement_policy", "heft"),
        ("deadline_ms", 50, "deadline_s", 0.05),
        ("max_wait_ms", 50, "max_wait_s", 0.05),
        ("max_query_ms", 1000, "max_query_s", 1.0),
        ("slice_ms", 2, "slice_s", 0.002),
        ("selection_ns", 10**9, "selection_s", 1.0),
        ("late", "refuse", "on_late", "reject"),
        ("late", "serve", "on_late", "serve"),
        ("same_bits", False, "relaxed_numerics", True),
        ("tries", 3, "policy_options", {"tries": 3}),
    ],
)
def test_old_names_are_warned_of(
    old: str, value: Any, new: str, now: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They work until November 2027; the warning is of the caller's line."""
    if old == "tries":
        old = next(iter(policy_options("auto")))
        now = {old: value}
    from surplus.engine.pipeline import load as module

    asked: dict[str, Any] = {}
    monkeypatch.setattr(module, "load_planned", lambda *_, **options: asked.update(options))
    text = "policy_options=" if new == "policy_options" else f"{old} is called {new}"
    with pytest.warns(DeprecationWarning, match=text) as warned, pytest.raises(TypeError):
        surplus.load("model.onnx", **{old: value})
    assert asked[new] == now
    assert warned[0].filename == __file__
    if new not in ("placement_policy", "policy_options"):
        with pytest.raises(ConfigError, match=f"{old} is called {new}, and both are given"):
            surplus.load("model.onnx", **{old: value, new: now})


def test_a_path_that_is_not_utf_8_is_said(shared: Subject, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/gr\xff.onnx")
    shutil.copyfile(shared.path, path)
    with pytest.raises(
        surplus.ModelError, match=r"gr\\udcff\.onnx': the path is not UTF-8; rename"
    ):
        surplus.load(path, cache=shared.cache)
    with pytest.raises(surplus.EngineError, match="the path is not UTF-8"):
        surplus.InferenceSession(path, cache=shared.cache)


def test_a_load_that_takes_too_long_ends_with_an_error(shared: Subject) -> None:
    with pytest.raises(surplus.ModelError, match=r"not loaded within max_load_s \(1e-06 s\)"):
        surplus.load(shared.path, "cpu:1", cache=shared.cache, max_load_s=1e-6)


def test_type_checkers_know_the_options_that_there_are() -> None:
    named = set(inspect.signature(surplus.load).parameters) | {"devices", "placement_policy"}
    assert {f.name for f in fields(LoadParams)} == set(LoadOptions.__annotations__) | (
        named & {f.name for f in fields(LoadParams)}
    )
