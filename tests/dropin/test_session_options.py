"""Attributes, defaults and errors are ONNX Runtime's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from surplus import ExecutionMode, GraphOptimizationLevel, InferenceSession, SessionOptions
from surplus.engine.dropin import levels
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


def test_what_is_wrong_is_refused_by_name() -> None:
    options = SessionOptions()
    with pytest.raises(state.Fail, match="Failed to load library /there/is/none"):
        options.register_custom_ops_library("/there/is/none.so")
    with pytest.raises(ValueError, match="2 names of initializers and 1 values"):
        options.add_external_initializers(["a", "b"], [np.zeros(1)])


@pytest.mark.parametrize("kind", [SessionOptions, onnxruntime.SessionOptions])
@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("intra_op_num_threads", np.int64(2), 2),
        ("intra_op_num_threads", np.int32(3), 3),
        ("inter_op_num_threads", True, 1),
        ("log_severity_level", np.array(1), 1),
        ("enable_profiling", 1, True),
        ("enable_mem_pattern", 0, False),
        ("enable_mem_reuse", np.False_, False),
        ("enable_cpu_mem_arena", None, False),
        ("logid", "named", "named"),
        ("optimized_model_filepath", b"bytes.onnx", "bytes.onnx"),
    ],
)
def test_attributes_take_what_onnxruntimes_take(
    kind: type, name: str, value: object, held: object
) -> None:
    options = kind()
    setattr(options, name, value)
    assert getattr(options, name) == held
    assert type(getattr(options, name)) is type(held)


@pytest.mark.parametrize("kind", [SessionOptions, onnxruntime.SessionOptions])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("intra_op_num_threads", 2.0),
        ("intra_op_num_threads", 2**40),
        ("intra_op_num_threads", None),
        ("enable_profiling", [1]),
        ("logid", 3),
        ("graph_optimization_level", 99),
        ("execution_mode", onnxruntime.ExecutionOrder.DEFAULT),
        ("execution_order", onnxruntime.ExecutionMode.ORT_PARALLEL),
    ],
)
def test_attributes_refuse_what_onnxruntimes_refuse(kind: type, name: str, value: object) -> None:
    with pytest.raises(TypeError):
        setattr(kind(), name, value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("graph_optimization_level", "GraphOptimizationLevel"),
        ("execution_mode", "ExecutionMode"),
        ("execution_order", "ExecutionOrder"),
    ],
)
def test_enumerations_of_either_module_are_taken(name: str, kind: str) -> None:
    for member in getattr(onnxruntime, kind).__members__.values():
        options = SessionOptions()
        setattr(options, name, member)
        held = getattr(options, name)
        assert type(held) is getattr(levels, kind)
        assert held == member
        assert all(
            (held != other) == (held.name != other.name)
            for other in type(member).__members__.values()
        )
    assert levels.ExecutionMode.ORT_SEQUENTIAL != onnxruntime.ExecutionOrder.DEFAULT


def test_methods_are_those_of_onnxruntime() -> None:
    def names(options: object) -> list[str]:
        return [name for name in dir(options) if not name.startswith("_")]

    assert names(SessionOptions()) == names(theirs())


@pytest.mark.parametrize("kind", [SessionOptions, onnxruntime.SessionOptions])
def test_providers_are_added(kind: type) -> None:
    options = kind()
    assert not options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    assert options.has_providers()
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Nothing"):
        options.add_provider("Nothing", {})
    with pytest.raises(state.InvalidArgument, match="'CUDAExecutionProvider'"):
        options.add_provider("CUDAExecutionProvider", {})
    by_device = kind()
    by_device.add_provider_for_devices(onnxruntime.get_ep_devices(), {})
    assert by_device.has_providers()


def test_sessions_take_providers_of_their_options(typed: Path, cache: Path) -> None:
    options = SessionOptions()
    options.add_provider("CPUExecutionProvider", {})
    options.set_provider_selection_policy_delegate(print)
    options.set_ep_context_data_read_func(print)
    options.clear_ep_context_data_read_func()
    session = InferenceSession(typed, options, devices="cpu:1", cache=cache)
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="already been configured with providers"):
        InferenceSession(typed, options, ["CPUExecutionProvider"], devices="cpu:1", cache=cache)


def test_a_load_that_is_cancelled_is_not_begun(typed: Path, cache: Path) -> None:
    options = SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(state.ModelLoadCanceled):
        InferenceSession(typed, options, devices="cpu:1", cache=cache)
    options.set_load_cancellation_flag(False)
    InferenceSession(typed, options, devices="cpu:1", cache=cache)


def test_disabled_optimisers_are_an_entry() -> None:
    options = SessionOptions()
    options.add_session_config_entry("optimization.disable_specified_optimizers", "ConstantFolding")
    asked = asked_session(options, {"MatMulAddFusion", "GeluFusionL2"})
    assert asked.is_told
    assert asked.config == {
        "optimization.disable_specified_optimizers": "ConstantFolding;GeluFusionL2;MatMulAddFusion"
    }
    assert not asked_session(SessionOptions(), []).is_told


def test_the_session_keeps_them_as_they_were(typed: Path, cache: Path) -> None:
    options = SessionOptions()
    options.execution_mode = ExecutionMode.ORT_PARALLEL
    session = InferenceSession(typed, options, devices="cpu:1", cache=cache)
    options.execution_mode = ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("surplus.priority", "7")
    kept = session.get_session_options()
    assert kept.execution_mode is ExecutionMode.ORT_PARALLEL
    with pytest.raises(RuntimeError, match=r"with key: surplus\.priority"):
        kept.get_session_config_entry("surplus.priority")
    assert session.run(["y"], FEEDS)[0].tolist() == [[1, 0, 2]]
    level = session.get_session_options().graph_optimization_level
    assert level is GraphOptimizationLevel.ORT_ENABLE_ALL


@pytest.mark.parametrize("level", ["ORT_ENABLE_ALL", "ORT_DISABLE_ALL"])
@pytest.mark.parametrize(("threads", "width"), [(1, 1), (0, 2), (2, 2), (np.int64(1), 1)])
def test_who_asks_for_one_thread_gets_a_lane_a_query(
    typed: Path, cache: Path, level: str, threads: Any, width: int
) -> None:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = GraphOptimizationLevel[level]
    session = InferenceSession(typed, options, cache=cache, devices="cpu:2", tune="off")
    told_or_planned: Any = session.model
    plan = getattr(told_or_planned, "plan", None) or told_or_planned._prepared.plan
    assert [segment.width for segment in plan.segments] == [width]
