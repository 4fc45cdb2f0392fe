"""What is said of one query: when it is due, that it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import surplus
from surplus.engine.dropin.run_options import RunOptions, ended_by, said_of
from surplus.engine.dropin.urgency_entries import load_options, query_options
from tests.dropin.pair import FEEDS, PLAIN, Pair, caught

state = onnxruntime.capi.onnxruntime_pybind11_state
MODULES = [surplus, onnxruntime]


class Query:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.mark.parametrize("module", MODULES)
def test_defaults_and_entries_are_those_of_onnxruntime(module: Any) -> None:
    options, theirs = module.RunOptions(), onnxruntime.RunOptions()
    for name in ("log_severity_level", "log_verbosity_level", "logid", "terminate"):
        assert getattr(options, name) == getattr(theirs, name)
    options.add_run_config_entry("key", "value")
    assert options.get_run_config_entry("key") == "value"
    with pytest.raises(RuntimeError, match="with key: other"):
        options.get_run_config_entry("other")


@pytest.mark.parametrize("module", MODULES)
def test_entries_say_how_urgent_a_query_is(module: Any) -> None:
    options = module.RunOptions()
    assert said_of(options) == {}
    options.add_run_config_entry("surplus.priority", "-3")
    options.add_run_config_entry("surplus.best_effort", "1")
    assert said_of(options) == {"priority": -3, "best_effort": True}


def test_a_deadline_is_in_seconds() -> None:
    found = query_options({"surplus.deadline_ms": "32.5"})
    assert found == {"due_s": 0.0325}
    assert load_options({"surplus.deadline_ms": "32.5"}) == {"deadline_s": 0.0325}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("surplus.deadline_ms", "0"),
        ("surplus.deadline_ms", "-1"),
        ("surplus.deadline_ms", "soon"),
        ("surplus.deadline_ms", "nan"),
        ("surplus.deadline_ms", "1e10"),
        ("surplus.priority", "high"),
        ("surplus.priority", "2147483648"),
        ("surplus.best_effort", "perhaps"),
        ("surplus.dead_line", "1"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(state.InvalidArgument, match=key):
        load_options({key: value})


def test_what_is_best_effort_is_not_due(pair: Pair) -> None:
    options = RunOptions()
    options.add_run_config_entry("surplus.best_effort", "true")
    options.add_run_config_entry("surplus.deadline_ms", "10")
    with pytest.raises(state.InvalidArgument, match=r"surplus\.best_effort is not due"):
        pair.ours.run(None, FEEDS, options)


@pytest.mark.parametrize("module", MODULES)
def test_a_query_with_options_answers(pair: Pair, module: Any) -> None:
    options = module.RunOptions()
    options.add_run_config_entry("surplus.deadline_ms", "1000")
    assert pair.ours.run(["y"], FEEDS, options)[0].tolist() == [[1, 0, 2]]
    pair.same_error(lambda s: s.run(None, FEEDS, 3), text=False)


def test_terminate_ends_queries_in_the_same_words(pair: Pair) -> None:
    options = onnxruntime.RunOptions()
    options.terminate = True
    pair.same_error(lambda s: s.run(None, FEEDS, options))
    ours = RunOptions()
    ours.terminate = True
    assert str(caught(lambda s: s.run(None, FEEDS, ours), pair.ours)) == str(
        caught(lambda s: s.run(None, FEEDS, options), pair.theirs)
    )
    ours.terminate = False
    assert pair.ours.run(["y"], FEEDS, ours)[0].tolist() == [[1, 0, 2]]


def test_terminate_ends_what_is_in_flight() -> None:
    options, query = RunOptions(), Query()
    with ended_by(options, query):
        assert not query.cancelled
        options.terminate = True
        assert query.cancelled
    late = Query()
    with ended_by(options, late):
        assert late.cancelled
    options.terminate, after = False, Query()
    with ended_by(options, after):
        pass
    options.terminate = True
    assert not after.cancelled


def test_adapters_are_refused() -> None:
    with pytest.raises(state.NotImplemented, match="LoRA"):
        RunOptions().add_active_adapter(None)


def test_the_core_hears_of_it(cache: Any) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    session = surplus.InferenceSession(content, devices="cpu:1", cache=cache)
    heard: list[dict[str, Any]] = []
    submit = session.model.submit
    session.model.submit = lambda feed, **said: heard.append(said) or submit(feed, **said)
    options = RunOptions()
    options.add_run_config_entry("surplus.priority", "2")
    session.run(None, {"x": FEEDS["x"], "i": np.array([1, 2])}, options)
    assert heard == [{"traced": False, "priority": 2}]
