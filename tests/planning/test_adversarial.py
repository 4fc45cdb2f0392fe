"""Inputs on which plans go apart that agree on ordinary ones, and that a check sees them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.examples.adversarial import adversarial_inputs, free_whole_inputs, other_sizes
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, sliced_plan

SPECS = parse_devices("cpu:2")


def _graph(tmp_path: Path, text: str) -> Graph:
    path = tmp_path / "graph.onnx"
    full = f'<ir_version: 10, opset_import: ["" : 17]>\ngraph {text}'
    path.write_bytes(onnx.parser.parse_model(full).SerializeToString())
    return read_model(path, tmp_path / "cache")


RELU = "(float[n, 8] x) => (float[n, 8] y) { a = Neg(x) b = Neg(a) y = Relu(b) }"


def test_numbers_are_large_negative_zero_and_equal_then_not_finite(tmp_path: Path) -> None:
    graph = _graph(tmp_path, "(float[2, 8] x) => (float[2, 8] y) { y = Relu(x) }")
    given = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    edges, special = (made["x"] for made in adversarial_inputs(graph, {"x": given}))
    flat = edges.ravel()
    assert np.isfinite(edges).all()
    assert flat[:4].max() > 100
    assert (flat[4:8] < 0).all()
    assert (flat[8:12] == 0).all()
    assert len(set(flat[12:])) == 1
    assert np.isnan(special).any()
    assert np.isposinf(special).any()
    assert np.isneginf(special).any()
    assert np.isfinite(given).all()


def test_sizes_that_are_open_become_others_the_same_ones_everywhere(tmp_path: Path) -> None:
    graph = _graph(
        tmp_path,
        "(float[n, t] x, float[n, 3] w, float[2] b) => (float[m] y)"
        "{ s = ReduceSum<keepdims=0>(x) r = ReduceSum<keepdims=0>(w) q = Add(s, r) y = Add(q, b) }",
    )
    given = {"x": np.ones((1, 5), "f4"), "w": np.ones((1, 3), "f4"), "b": np.ones(2, "f4")}
    found = other_sizes(graph, given)
    assert [found[name].shape for name in given] == [(2, 4), (2, 3), (2,)]
    assert found["b"] is given["b"]


@pytest.mark.parametrize(
    ("body", "free"),
    [
        ("(float[9, 2] x, int64[4] i) => (float[4, 2] y) { y = Gather(x, i) }", True),
        ("(float[2] x, int64[1] i) => (float[n] y) { y = Tile(x, i) }", False),
        ("(float[4] x, int64[1] i) => (float[n] y) <int64[1] k = {2}> "
         "{ j = Mul(i, k) y = Expand(x, j) }", False),
        ("(int64[4] a, int64[4] i) => (int64[4] y) { y = Div(a, i) }", False),
        ("(float[99, 2] x, int64[4] i) => (float[4, 2] y) <int64 k = {31}, int64 p = {99}> "
         "{ j = Mul(i, k) h = Mod(j, p) y = Gather(x, h) }", True),
        ("(float[4] x, int64[4] i) => (float[4] y) { f = Cast<to=1>(i) y = Mul(f, x) }", True),
        ("(float[4] x, int64[1] i) => (float[n] y) { y = TopK(x, i) }", False),
    ],
)  # fmt: skip
def test_whole_numbers_are_any_where_they_are_no_sizes(
    tmp_path: Path, body: str, free: bool
) -> None:
    body = body.replace("y = TopK", "y, q = TopK")
    assert ("i" in free_whole_inputs(_graph(tmp_path, body))) is free


def test_whole_numbers_are_beyond_what_float32_tells_apart(tmp_path: Path) -> None:
    graph = _graph(tmp_path, "(int32[8] a, int32[8] b) => (bool[8] y) { y = Equal(a, b) }")
    given = {name: np.arange(8, dtype=np.int32) for name in "ab"}
    (edges,) = adversarial_inputs(graph, given)
    assert {2**24 + 1, 2**31 - 1, -(2**31)} <= set(edges["a"].tolist())


class _Spoilt:
    """A model that answers wrongly where ``spoils`` says so."""

    def __init__(self, model: PlannedModel, spoils: Any) -> None:
        self._model = model
        self._spoils = spoils
        self.plan = model.plan

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Zeros for wrong answers."""
        found = self._model.run(inputs)
        return (
            {n: np.zeros_like(v) for n, v in found.items()} if self._spoils(inputs["x"]) else found
        )


@pytest.mark.parametrize(
    "spoils",
    [
        lambda x: np.isnan(x).any(),
        lambda x: np.abs(x[np.isfinite(x)]).max() > 30,
        lambda x: len(x) != 3,
    ],
)
def test_a_plan_that_is_wrong_on_such_inputs_alone_is_dropped(
    tmp_path: Path, spoils: Any, caplog: pytest.LogCaptureFixture
) -> None:
    graph = _graph(tmp_path, RELU)
    model = PlannedModel(
        graph, sliced_plan(graph, constant_problem(graph, SPECS), 2), machine_for(SPECS)
    )
    given = {"x": np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)}
    assert AnswerCheck(graph, given, SPECS).accepts(model)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert not AnswerCheck(graph, given, SPECS).accepts(
            cast("PlannedModel", _Spoilt(model, spoils))
        )
    assert "answers wrongly and is dropped" in caplog.text
    unasked = AnswerCheck(graph, given, SPECS, is_adversarial=False)
    assert unasked.accepts(cast("PlannedModel", _Spoilt(model, spoils)))


def test_inputs_that_the_model_refuses_are_left_out(tmp_path: Path) -> None:
    graph = _graph(
        tmp_path,
        "(float[n, 8] x) => (float[1, 8] y) <float[3, 8] k = {"
        + ",".join(["1"] * 24)
        + "}> { z = Add(x, k) y = ReduceMax<axes=[0]>(z) }",
    )
    model = PlannedModel(
        graph, sliced_plan(graph, constant_problem(graph, SPECS), 2), machine_for(SPECS)
    )
    check = AnswerCheck(graph, {"x": np.ones((3, 8), np.float32)}, SPECS)
    assert check.accepts(model)
    assert check.note()["difference"] == 0
