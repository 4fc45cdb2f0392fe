"""Outputs belong to the caller: what becomes of its inputs, or of other answers, changes none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.runtime_models import model_of, read_text

HANDED_ON = "handed (float[n] x) => (float[n] y, float[n] x) { y = Add(x, x) }"
TYPED = {
    "bfloat16": "handed (bfloat16[n] x) => (bfloat16[n] x, int64[1] y) { y = Shape(x) }",
    "int4": "handed (int4[n] x) => (int4[n] x, float[n] y) { y = Cast<to = 1>(x) }",
    "bool": "handed (bool[n] x) => (bool[n] x, bool[n] y) { y = Not(x) }",
}
GIVEN = {
    "bfloat16": np.array([1, 2, 3], ml_dtypes.bfloat16),
    "int4": np.array([1, -2, 3], ml_dtypes.int4),
    "bool": np.array([True, False, True]),
}
SEQUENCE = "handed (seq(float[n]) x) => (seq(float[n]) x, int64 y) { y = SequenceLength(x) }"
OPTIONAL = """handed (optional(float[n]) x) => (optional(float[n]) x, bool y) {
    y = OptionalHasElement(x) }"""
STRINGS = "handed (string[n] x) => (string[n] x, string[n] y) { y = Identity(x) }"
CONSTANT = """constant (float[2] x) => (float[2] c, float[2] y) <float[2] c = {1, 2}> {
    y = Add(x, c) }"""

Ask = Callable[[PlannedModel, dict[str, Any]], dict[str, Any]]
WAYS: dict[str, Ask] = {
    "run": lambda model, inputs: model.run(inputs),
    "run of names": lambda model, inputs: model.run(inputs, ["x", "y"]),
    "run with a limit": lambda model, inputs: model.run(inputs, timeout_s=60),
    "traced": lambda model, inputs: model.run(inputs, traced=True),
    "submit": lambda model, inputs: model.submit(inputs).result(),
    "submit of names": lambda model, inputs: model.submit(inputs, ["x", "y"]).result(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("whole", [False, True])
def test_an_input_that_is_an_output_is_a_copy(whole: bool, way: str, tmp_path: Path) -> None:
    model = model_of(read_text(HANDED_ON, tmp_path), "cpu:1", whole=whole)
    x = np.ones(3, np.float32)
    answer = WAYS[way](model, {"x": x})
    assert not np.shares_memory(answer["x"], x)
    x[:] = 77
    assert answer["x"].tolist() == [1, 1, 1]
    answer["x"][:] = 5
    assert x.tolist() == [77, 77, 77]


@pytest.mark.parametrize("kind", TYPED)
def test_so_is_one_of_any_type(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = '<ir_version: 10, opset_import: ["" : 21]>\n' + TYPED[kind]
    onnx.save(onnx.parser.parse_model(text), path)
    model = model_of(read_model(path, tmp_path / "cache"), "cpu:1")
    x = GIVEN[kind].copy()
    found = model.run({"x": x})["x"]
    x[:] = x[::-1].copy() * 0
    assert found.tolist() == GIVEN[kind].tolist()


def test_parts_of_a_sequence_are_copies(tmp_path: Path) -> None:
    model = model_of(read_text(SEQUENCE, tmp_path), "cpu:1")
    part = np.ones(3, np.float32)
    (found,) = model.run({"x": [part]})["x"]
    part[:] = 7
    assert found.tolist() == [1, 1, 1]


def test_what_an_optional_holds_is_a_copy(tmp_path: Path) -> None:
    model = model_of(read_text(OPTIONAL, tmp_path), "cpu:1")
    x = np.ones(3, np.float32)
    found = model.run({"x": x})["x"]
    x[:] = 7
    assert found.tolist() == [1, 1, 1]


def test_strings_are_handed_on(tmp_path: Path) -> None:
    model = model_of(read_text(STRINGS, tmp_path), "cpu:1")
    x = np.array(["a", "b"], object)
    found = model.run({"x": x})["x"]
    x[:] = "c"
    assert found.tolist() == ["a", "b"]


def test_a_constant_is_a_copy(tmp_path: Path) -> None:
    model = model_of(read_text(CONSTANT, tmp_path), "cpu:1")
    x = np.zeros(2, np.float32)
    model.run({"x": x})["c"][:] = 9
    assert model.run({"x": x})["c"].tolist() == [1, 2]


MANY = """many (float[4] x, float16[2, 2] h, int64 i, bool[0] none, float[4096] big)
    => (float[4] y, float16[2, 2] k, int64 j, bool[0] still, float[4096] large)
    { y = Neg(x) k = Neg(h) j = Neg(i) still = Not(none) large = Neg(big) }"""


def test_small_outputs_of_a_query_are_arrays_of_their_own(tmp_path: Path) -> None:
    """They lie in one block: none overlaps another, and later queries write others."""
    model = model_of(read_text(MANY, tmp_path), "cpu:1", whole=True)
    queries = [
        {
            "x": np.arange(4, dtype=np.float32) + n,
            "h": np.full((2, 2), n, np.float16),
            "i": np.array(n),
            "none": np.zeros(0, bool),
            "big": np.full(4096, n, np.float32),
        }
        for n in (1, 2)
    ]
    first, second = map(model.run, queries)
    for answer, query in ((first, queries[0]), (second, queries[1])):
        for output, given in zip("ykj", "xhi", strict=True):
            assert answer[output].dtype == query[given].dtype
            assert answer[output].shape == query[given].shape
            assert np.array_equal(answer[output], -query[given])
            assert answer[output].flags.aligned
            answer[output][...] = 9
        assert answer["still"].shape == (0,)
        assert answer["still"].dtype == bool
        assert np.array_equal(answer["large"], -query["big"])
    assert all((first[name] == 9).all() for name in "ykj")
