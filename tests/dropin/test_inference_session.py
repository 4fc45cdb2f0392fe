"""Our session beside ONNX Runtime's: the same answers, signatures and errors."""

from __future__ import annotations

import inspect
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import surplus
from surplus import InferenceSession
from surplus.engine.dropin.model_metadata import ModelMetadata
from surplus.engine.dropin.told_model import ToldModel
from surplus.engine.errors import ConfigError
from tests.dropin.pair import FEEDS, PLAIN, Pair

X = FEEDS["x"]


@pytest.mark.parametrize("of", ["get_inputs", "get_outputs", "get_overridable_initializers"])
def test_signatures_are_those_of_onnxruntime(pair: Pair, of: str) -> None:
    pair.same_answers(lambda s: [(a.name, a.type, a.shape) for a in getattr(s, of)()])


@pytest.mark.parametrize("names", [None, [], ["said", "y"], ("first",)])
def test_answers_are_those_of_onnxruntime(pair: Pair, names: list[str] | None) -> None:
    pair.same_answers(lambda s: s.run(names, FEEDS))


@pytest.mark.parametrize(
    "change",
    [
        {"x": [[1.0, -2.0, 3.0]]},  # a list
        {"x": np.ones((3, 2), np.float32).T},  # not contiguous
        {"text": np.array(["numpy's own strings"])},
        {"x": np.zeros((0, 3), np.float32)},
    ],
)
def test_inputs_may_be_what_onnxruntime_takes(pair: Pair, change: dict[str, Any]) -> None:
    pair.same_answers(lambda s: s.run(None, {**FEEDS, **change}))


@pytest.mark.parametrize(
    "feed",
    [
        {name: value for name, value in FEEDS.items() if name not in ("x", "text")},  # two missing
        {**FEEDS, "z": X},  # unknown
        {**FEEDS, "x": X.astype(np.float64)},  # another type
        {**FEEDS, "flag": np.array(1.0)},
        {**FEEDS, "x": X[0]},  # another rank
        {**FEEDS, "x": np.ones((1, 4), np.float32)},  # another size
        {**FEEDS, "text": np.array(["a", "b"], object)},
    ],
)
def test_wrong_feeds_are_refused_in_the_same_words(pair: Pair, feed: dict[str, Any]) -> None:
    pair.same_error(lambda s: s.run(None, feed))


@pytest.mark.parametrize("feed", [None, [X]])
def test_a_feed_that_is_no_mapping_is_none(pair: Pair, feed: Any) -> None:
    pair.same_error(lambda s: s.run(None, feed))


@pytest.mark.parametrize(
    "change",
    [
        {"x": [[1.0], [1.0, 2.0]]},
        {"x": [[object()]]},
        {"x": {}},
        {"x": {"a": 1.0}},
        {"x": {3: 1.0}},
        {"x": {"a": np.ones((2, 2))}},
    ],
)
def test_what_makes_no_tensor_is_refused_in_the_same_words(
    pair: Pair, change: dict[str, Any]
) -> None:
    pair.same_error(lambda s: s.run(None, {**FEEDS, **change}))


def test_arrays_of_no_type_of_onnx_are_refused_by_the_same_class(pair: Pair) -> None:
    dates = np.array(["2020-01-01"], "M8[s]")
    pair.same_error(lambda s: s.run(None, {**FEEDS, "x": dates}), text=False)


@pytest.mark.parametrize("texts", [["a"], [3], [None], [1.5]])
def test_what_is_no_text_is_made_text(pair: Pair, texts: list[Any]) -> None:
    feed = {**FEEDS, "text": np.array(texts, object)}
    pair.same_answers(lambda s: s.run(["said"], feed))


def test_another_byte_order_is_refused_by_that_name(pair: Pair) -> None:
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) as info:
        pair.ours.run(None, {**FEEDS, "x": X.astype(">f4")})
    assert "input 'x': >f4 is not in this machine's byte order" in str(info.value)


def test_metadata_of_bytes_are_there_without_the_cache(tmp_path: Path) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    session = InferenceSession(content, devices="cpu:1", cache=tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    assert session.get_modelmeta().graph_name == "plain"


def test_unknown_outputs_are_refused_in_the_same_words(pair: Pair) -> None:
    pair.same_error(lambda s: s.run(["z"], FEEDS))
    pair.same_error(lambda s: s.run("y", FEEDS), text=False)


def test_a_failing_operator_has_the_number_that_onnxruntime_gives_it(cache: Path) -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
    gather (float[4] x, int64[n] i) => (float[n] y) { y = Gather(x, i) }"""
    content = onnx.parser.parse_model(text).SerializeToString()
    feed = {"x": np.ones(4, np.float32), "i": np.array([7])}
    both = Pair(
        InferenceSession(content, devices="cpu:1", cache=cache),
        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]),
    )
    for _ in range(2):  # of the process that stands in at first, and of our own
        both.same_error(lambda s: s.run(None, feed), text=False)
    with pytest.raises(Exception, match="data bounds") as ours:
        both.ours.run(None, feed)
    with pytest.raises(Exception, match="data bounds") as theirs:
        both.theirs.run(None, feed)
    begin = "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code returned while"
    assert all(str(error.value).startswith(begin) for error in (ours, theirs))


def test_values_are_taken_and_given(pair: Pair, typed: Path) -> None:
    def ask(session: Any) -> Any:
        kind = surplus.OrtValue if session is pair.ours else onnxruntime.OrtValue
        feed = {**FEEDS, "x": kind.ortvalue_from_numpy(X)}
        return session.run(["y"], feed)

    pair.same_answers(ask)


def test_values_in_values_out(cache: Path) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()

    def asked(module: Any, session: Any) -> Any:
        made = module.OrtValue.ortvalue_from_numpy
        feed = {"x": made(X), "i": made(np.array([1, 2]))}
        answers = session.run_with_ort_values(["j", "y"], feed)
        return [(a.data_type(), a.shape(), a.numpy().tolist()) for a in answers]

    ours = InferenceSession(content, devices="cpu:1", cache=cache)
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert asked(surplus, ours) == asked(onnxruntime, theirs)
    fetches: list[Any] = []
    value = surplus.OrtValue(np.array([1, 2]))
    ours.run_with_ortvaluevector(None, ["x", "i"], [surplus.OrtValue(X), value], ["j"], fetches, [])
    assert fetches[0].numpy().tolist() == [-1, -2]


def called_back(session: Any, names: list[str] | None, feed: dict[str, Any]) -> tuple[Any, ...]:
    ended, heard = threading.Event(), []

    def callback(*args: Any) -> None:
        heard.append((*args, threading.current_thread() is threading.main_thread()))
        ended.set()

    assert session.run_async(names, feed, callback, "data") is None
    assert ended.wait(60)
    return heard[0]


def test_a_query_calls_back(pair: Pair) -> None:
    pair.same_answers(lambda s: called_back(s, ["y"], FEEDS))


def test_a_query_that_fails_calls_back_with_its_error(pair: Pair) -> None:
    for session in (pair.ours, pair.theirs):
        answers, data, text, in_main = called_back(session, None, {**FEEDS, "x": X[0]})
        assert (answers, data, in_main) == ([], "data", False)
        assert "Invalid rank for input: x Got: 1 Expected: 2" in text
    pair.same_error(lambda s: s.run_async(None, {}, print, None))


def test_metadata_are_those_of_onnxruntime(cache: Path) -> None:
    model = onnx.parser.parse_model(PLAIN)
    model.producer_name, model.domain, model.doc_string = "somebody", "org.example", "described"
    model.model_version, model.graph.doc_string = 7, "the graph"
    onnx.helper.set_model_props(model, {"alphabet": "abc\nd", "empty": ""})
    content = model.SerializeToString()
    both = Pair(
        InferenceSession(content, devices="cpu:1", cache=cache),
        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]),
    )
    for name in ModelMetadata.__dataclass_fields__:
        both.same_answers(lambda s, name=name: getattr(s.get_modelmeta(), name))


def test_a_model_that_says_nothing_of_itself(pair: Pair) -> None:
    pair.same_answers(lambda s: (s.get_modelmeta().version, s.get_modelmeta().custom_metadata_map))


def test_providers_in_use(pair: Pair) -> None:
    pair.same_answers(lambda s: (s.get_providers(), s.get_provider_options()))
    pair.same_answers(lambda s: (s.disable_fallback(), s.enable_fallback()))
    pair.ours.set_providers(["CPUExecutionProvider"])
    assert pair.ours.run(["y"], FEEDS)[0].tolist() == [[1, 0, 2]]


def test_what_no_inputs_can_be_made_up_for_runs_as_one_session(pair: Pair) -> None:
    assert isinstance(pair.ours.model, ToldModel)
    feed = {**FEEDS, "scale": np.ones(3)}
    pair.same_answers(lambda s: s.run(None, feed))


def test_given_inputs_are_measured_with(typed: Path, cache: Path, pair: Pair) -> None:
    planned = InferenceSession(typed, devices="cpu:1", cache=cache, inputs=FEEDS)
    assert not isinstance(planned.model, ToldModel)
    both = Pair(planned, pair.theirs)
    both.same_answers(lambda s: s.run(None, {**FEEDS, "scale": np.ones(3)}))
    both.same_answers(
        lambda s: [
            vars(a) if s is planned else {"name": a.name, "type": a.type, "shape": a.shape}
            for a in s.get_overridable_initializers()
        ]
    )


def test_what_is_not_there_is_refused_by_name(pair: Pair) -> None:
    state = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NotImplemented, match="set_ep_dynamic_options is not there"):
        pair.ours.set_ep_dynamic_options({})
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = pair.ours.nothing
    for name in ("set_ep_dynamic_options", "get_provider_graph_assignment_info", "nothing"):
        assert not hasattr(pair.ours, name)
        assert getattr(pair.ours, name, 3) == 3
    assert dict(inspect.getmembers(pair.ours))["_model_path"]


def test_what_there_is_nothing_of_is_empty(pair: Pair) -> None:
    pair.same_answers(lambda s: (s.get_tuning_results(), s.set_tuning_results([])))
    pair.same_answers(lambda s: s.release_captured_graph())
    pair.same_answers(lambda s: [len(s.get_input_epdevices()), s.get_input_epdevices()[0].ep_name])
    pair.same_answers(lambda s: [type(info) for info in s.get_input_memory_infos()])
    pair.same_answers(
        lambda s: [(info.device_id, info.mem_type) for info in s.get_output_memory_infos()]
    )
    made = pair.ours.create_ortvalue_from_shape_and_type([2], np.float32, "cpu")
    assert made.shape() == [2]
    state = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NotImplemented, match="engine tune"):
        pair.ours.set_tuning_results([{}])


def test_optimisers_are_disabled(cache: Path) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    given = {"disabled_optimizers": ["ConstantFolding"], "enable_fallback": 0}
    ours = InferenceSession(content, devices="cpu:1", cache=cache, **given)
    assert isinstance(ours.model, ToldModel)
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"], **given)
    Pair(ours, theirs).same_answers(lambda s: s.run(None, {"x": X, "i": np.array([1, 2])}))
    plain = InferenceSession(content, devices="cpu:1", cache=cache, disabled_optimizers=[])
    assert not isinstance(plain.model, ToldModel)


def test_unknown_keywords_are_ignored_as_there(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    given = {"whatever": 1, "read_config_from_model": 0, "nothing": "cpu:1"}
    ours = InferenceSession(content, devices="cpu:1", cache=cache, kernals="auto", **given)
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"], **given)
    Pair(ours, theirs).same_answers(lambda s: s.run(None, {"x": X, "i": np.array([1, 2])}))
    said = [each.getMessage() for each in caplog.records if "does not read" in each.getMessage()]
    assert said == ["InferenceSession does not read kernals; did you mean kernels?"]


def test_options_of_load_are_taken(typed: Path, cache: Path) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    session = InferenceSession(content, devices="cpu:1", cache=cache, deadline_s=0.05, priority=3)
    assert session.model._planned.native.urgency == (50_000_000, 3, False)
    with pytest.raises(ConfigError, match="no option 'nothing'"):
        InferenceSession(typed, cache=cache, placement_policy="heft", nothing=1)
    assert not isinstance(session.model, ToldModel)
