"""Attributes, defaults and errors are ONNX Runtime's."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from surplus import ExecutionMode, GraphOptimizationLevel, InferenceSession, SessionOptions
from surplus.engine.dropin.asked_session import AskedSession, asked_session
from tests.dropin.pair import FEEDS

state = onnxruntime.capi.onnxruntime_pybind11_state


def attributes(options: object) -> dict[str, object]:
    names = [name for name in dir(onnxruntime.SessionOptions()) if not name.startswith("_")]
    found = {n: getattr(options, n) for n in names if not callable(getattr(theirs(), n))}
    return {n: int(v) if hasattr(v, "name") else v for n, v in found.items()}


def theirs() -> onnxruntime.SessionOptions:
    return onnxruntime.SessionOptions()


def test_defaults_are_those_of_onnxruntime() -> None:
    assert attributes(SessionOptions()) == attributes(theirs())


@pytest.mark.parametrize("kind", ["GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"])
def test_enumerations_are_those_of_onnxruntime(kind: str) -> None:
    import surplus.engine.dropin.levels as levels

    ours, other = getattr(levels, kind), getattr(onnxruntime, kind)
    assert {n: (int(v), str(v), repr(v)) for n, v in ours.__members__.items()} == {
        n: (int(v), str(v), repr(v)) for n, v in other.__members__.items()
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph_optimization_level", 1),
        ("execution_mode", "parallel"),
        ("intra_op_num_threads", "two"),
        ("enable_profiling", "yes"),
        ("nothing", 1),
    ],
)
def test_wrong_attributes_are_refused_by_the_same_class(name: str, value: object) -> None:
    with pytest.raises((TypeError, AttributeError)) as ours:
        setattr(SessionOptions(), name, value)
    with pytest.raises(ours.type):
        setattr(theirs(), name, value)


def test_what_says_nothing_asks_for_nothing() -> None:
    assert asked_session(None) == AskedSession()
    plain = asked_session(SessionOptions())
    assert not plain.is_told
    assert not plain.rewrites
    with pytest.raises(state.InvalidArgument, match="SessionOptions, got int"):
        asked_session(3)


@pytest.mark.parametrize("kind", [SessionOptions, onnxruntime.SessionOptions])
def test_threads_are_left_to_the_engine(kind: type, caplog: pytest.LogCaptureFixture) -> None:
    options = kind()
    options.intra_op_num_threads = 7
    options.inter_op_num_threads = 3
    options.execution_mode = type(options.execution_mode)(1)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with caplog.at_level(logging.DEBUG, "surplus"):
        assert not asked_session(options).is_told
    assert "intra_op_num_threads = 7 is not read" in caplog.text
    assert all(record.levelno <= logging.INFO for record in caplog.records)


@pytest.mark.parametrize("kind", [SessionOptions, onnxruntime.SessionOptions])
def test_what_changes_answers_is_told(kind: type) -> None:
    options = kind()
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.add_session_config_entry("surplus.priority", "4")
    asked = asked_session(options)
    assert asked.is_told
    assert (asked.config, asked.load_options) == (
        {"session.disable_prepacking": "1"},
        {"priority": 4},
    )
    options = kind()
    options.graph_optimization_level = type(options.graph_optimization_level).ORT_ENABLE_BASIC
    assert (asked_session(options).level, asked_session(options).is_told) == ("basic", True)


def test_entries_are_said_and_asked() -> None:
    options = SessionOptions()
    options.add_session_config_entry("key", "value")
    assert options.get_session_config_entry("key") == "value"
    with pytest.raises(RuntimeError, match="with key: other"):
        options.get_session_config_entry("other")


def test_what_is_not_there_is_refused_by_name() -> None:
    options = SessionOptions()
    with pytest.raises(state.NotImplemented, match="add_provider_for_devices is not there"):
        options.add_provider_for_devices([], {})
    with pytest.raises(state.Fail, match="Failed to load library /there/is/none"):
        options.register_custom_ops_library("/there/is/none.so")
    with pytest.raises(ValueError, match="2 names of initializers and 1 values"):
        options.add_external_initializers(["a", "b"], [np.zeros(1)])
    assert options.has_providers() is theirs().has_providers()


def test_the_session_keeps_them(typed: Path, cache: Path) -> None:
    options = SessionOptions()
    options.execution_mode = ExecutionMode.ORT_PARALLEL
    session = InferenceSession(typed, options, devices="cpu:1", cache=cache)
    assert session.get_session_options() is options
    assert session.run(["y"], FEEDS)[0].tolist() == [[1, 0, 2]]
    level = session.get_session_options().graph_optimization_level
    assert level is GraphOptimizationLevel.ORT_ENABLE_ALL
