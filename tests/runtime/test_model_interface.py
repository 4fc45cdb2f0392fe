"""``surplus.Model`` as its user sees it: names, keywords, what it says of mistakes."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dropin.statuses import Fail
from surplus.engine.planning.stages import read_model
from tests.constant_costs import constant_problem, scattered_plan

X = {"x": np.arange(8, dtype=np.float32).reshape(2, 4)}
GRAPH = """<ir_version: 9, opset_import: ["" : 17]>
plain (float[N, 4] x, float[4] bias) => (float[N, 4] y, float[N, 4] z)
<float[4] bias = {0.0, 0.0, 0.0, 0.0}> { y = Neg(x) z = Add(x, bias) }"""
NAMES = {
    *("inputs", "outputs", "run", "submit", "infer", "close"),
    *("plan", "facts", "warning", "timeline", "breakdown"),
}
WAYS: dict[str, Callable[..., Any]] = {
    "run": lambda model, *args, **said: model.run(*args, **said),
    "submit": lambda model, *args, **said: model.submit(*args, **said).result(),
    "infer": lambda model, *args, **said: asyncio.run(model.infer(*args, **said)),
    "lazily": lambda model, *args, **said: _lazy(model).run(*args, **said),
}


def _lazy(model: surplus.Model) -> surplus.LazyModel:
    lazy = surplus.LazyModel("nowhere.onnx")
    lazy._model = model._planned
    return lazy


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Model]:
    folder = tmp_path_factory.mktemp("interface")
    path = folder / "plain.onnx"
    onnx.save(onnx.parser.parse_model(GRAPH), path)
    with surplus.load(path, "cpu:1", cache=folder / "cache", selection_s=0) as model:
        yield model


def test_a_user_sees_eleven_names(model: surplus.Model) -> None:
    for seen in (surplus.Model, model):
        assert {name for name in dir(seen) if not name.startswith("_")} == NAMES


def test_who_has_made_a_plan_makes_a_model_of_it(tmp_path: Path) -> None:
    path, specs = tmp_path / "plain.onnx", parse_devices("cpu:1,emulated:gpu")
    onnx.save(onnx.parser.parse_model(GRAPH), path)
    graph = read_model(path, tmp_path / "cache")
    plan = scattered_plan(graph, constant_problem(graph, specs), 1)
    with surplus.Model(graph, plan, machine_for(specs)) as model:
        assert model.plan is plan
        assert np.array_equal(model.run(X)["y"], -X["x"])


@pytest.mark.parametrize("kind", [surplus.Model, surplus.LazyModel])
def test_all_ways_take_the_same(kind: type) -> None:
    found = [inspect.signature(getattr(kind, way)) for way in ("run", "submit", "infer")]
    assert found[0].parameters == found[1].parameters == found[2].parameters
    assert list(found[0].parameters)[:3] == ["self", "inputs", "outputs"]
    rest = list(found[0].parameters.values())[3:]
    assert {parameter.kind for parameter in rest} == {inspect.Parameter.KEYWORD_ONLY}
    assert [parameter.name for parameter in rest] == [
        *("timeout_s", "deadline_s", "deadline_ns", "due_s", "priority", "best_effort", "traced")
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"timeout_s": 60},
        {"deadline_s": np.float32(60)},
        {"deadline_ns": 2**62},
        {"due_s": 60.0},
        {"priority": -3},
        {"best_effort": True},
        {"timeout_s": 60, "deadline_s": 50, "priority": 1, "traced": True},
    ],
    ids=str,
)
def test_a_query_is_answered_whatever_it_says(
    model: surplus.Model, way: str, said: dict[str, Any]
) -> None:
    answer = WAYS[way](model, X, ["y"], **said)
    assert answer.keys() == {"y"}
    np.testing.assert_array_equal(answer["y"], -X["x"])


@pytest.mark.parametrize("way", ["run", "infer"])
@pytest.mark.parametrize("said", [{}, {"priority": 1}], ids=str)
def test_a_traced_one_is_the_models_last(
    model: surplus.Model, way: str, said: dict[str, Any]
) -> None:
    WAYS[way](model, X, traced=True, **said)
    first = model.timeline()
    assert len(list(first)) == len(model.plan.segments)
    assert model.breakdown().total_ns > 0
    WAYS[way](model, X, traced=True, **said)
    assert model.timeline() is not first


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"timeout_s": -1}, "timeout_s must be 0 to 1e\\+09 seconds, got -1"),
        ({"timeout_s": "1"}, "timeout_s must be a number of seconds, got '1'"),
        ({"timeout_s": float("nan")}, "timeout_s must be 0 to"),
        ({"deadline_s": float("inf")}, "deadline_s must be 0 to"),
        ({"deadline_s": True}, "deadline_s must be a number of seconds, got True"),
        ({"due_s": -0.5}, "due_s must be 0 to"),
        ({"deadline_s": 1, "deadline_ns": 1}, "a query has one deadline"),
        ({"deadline_ns": -1}, "deadline_ns must be 0 to"),
        ({"deadline_ns": 1.5}, "deadline_ns must be an integer, got 1.5"),
        ({"priority": "high"}, "priority must be an integer, got 'high'"),
        ({"priority": ""}, "priority must be an integer, got ''"),
        ({"best_effort": "no"}, "best_effort must be True or False, got 'no'"),
        ({"traced": "no"}, "traced must be True or False, got 'no'"),
    ],
)
def test_what_a_query_says_is_checked(
    model: surplus.Model, way: str, said: dict[str, Any], message: str
) -> None:
    with pytest.raises(surplus.InputError, match=message):
        WAYS[way](model, X, **said)


@pytest.mark.parametrize("way", WAYS)
def test_a_deadline_that_has_passed_ends_it(model: surplus.Model, way: str) -> None:
    for said in ({"deadline_ns": 1}, {"deadline_s": 0}):
        with pytest.raises(surplus.DeadlineError):
            WAYS[way](model, X, **said)


@pytest.mark.parametrize("way", WAYS)
def test_an_option_that_is_none(model: surplus.Model, way: str) -> None:
    with pytest.raises(TypeError, match="a query has no option 'timeuot'; it has: outputs, timeou"):
        WAYS[way](model, X, timeuot=1)


@pytest.mark.parametrize("way", ["run", "submit"])
@pytest.mark.parametrize(
    ("old", "new"), [({"timeout": 60.0}, "timeout_s"), ({"due_ns": 2**62}, "due_s")]
)
def test_old_names_are_warned_of(
    model: surplus.Model, way: str, old: dict[str, Any], new: str
) -> None:
    name = next(iter(old))
    with pytest.warns(DeprecationWarning, match=f"{name} is called {new}"):
        answer = WAYS[way](model, X, **old)
    np.testing.assert_array_equal(answer["y"], -X["x"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", [X["x"], [X["x"]], None, "x", 3], ids=lambda v: type(v).__name__)
def test_inputs_that_are_no_mapping(model: surplus.Model, way: str, given: Any) -> None:
    kind = type(given).__name__
    message = rf"inputs must be a mapping of name to array, as \{{'x': array\}}, got {kind}"
    with pytest.raises(surplus.InputError, match=message):
        WAYS[way](model, given)


@pytest.mark.parametrize("way", WAYS)
def test_outputs_that_are_one_name(model: surplus.Model, way: str) -> None:
    with pytest.raises(surplus.InputError, match=r"outputs must be a sequence of names, as \['y'"):
        WAYS[way](model, X, "y")
    with pytest.raises(surplus.InputError, match="unknown output 'q'; there are: y, z"):
        WAYS[way](model, X, ["q"])


@pytest.mark.parametrize(
    "take", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"]
)
def test_it_is_of_its_process(model: surplus.Model, take: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="a model cannot be copied or pickled"):
        take(model)


def test_it_prints_what_it_is(model: surplus.Model) -> None:
    assert repr(model) == f"<surplus.Model 'plain' on cpu:1: {model.plan.name}>"
    assert repr(_lazy(model)).endswith(f"'plain' on cpu:1: {model.plan.name}>")
    assert repr(surplus.LazyModel("a.onnx")) == "<surplus.LazyModel 'a.onnx': not loaded>"


def test_inputs_say_their_types(model: surplus.Model) -> None:
    x, bias = model.inputs
    assert (x.dtype, x.type, x.shape) == (np.float32, "tensor(float)", ("N", 4))
    assert repr(x) == "<'x': tensor(float)(N, 4)>"
    assert repr(bias) == "<'bias': tensor(float)(4,), optional>"


def test_a_closed_one_says_so(model: surplus.Model, tmp_path: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnx.save(onnx.parser.parse_model(GRAPH), path)
    with surplus.load(path, "cpu:1", cache=tmp_path / "cache", selection_s=0) as closed:
        pass
    assert repr(closed) == "<surplus.Model 'plain' on cpu:1: closed>"
    for way in ("run", "submit", "infer"):
        with pytest.raises(surplus.ExecutionError, match="'plain' is closed"):
            WAYS[way](closed, X)


def test_a_session_closes_and_prints_what_it_is(model: surplus.Model, tmp_path: Path) -> None:
    content = onnx.parser.parse_model(GRAPH).SerializeToString()
    told = surplus.SessionOptions()
    told.graph_optimization_level = surplus.GraphOptimizationLevel.ORT_DISABLE_ALL
    for options in (None, told):
        asked: dict[str, Any] = {"devices": "cpu:1", "cache": tmp_path}
        with surplus.InferenceSession(content, options, **asked) as session:
            assert session.run(["y"], X)
            assert repr(session).startswith("<surplus.InferenceSession ")
            assert " on cpu:1: " in repr(session)
        assert repr(session).endswith(": closed>")
        with pytest.raises(Fail, match="is closed"):
            session.run(["y"], X)
