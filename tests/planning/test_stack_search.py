"""Whether a model's queries may be answered together: by rule, by what it gains, by its answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import ConfigError
from surplus.engine.planning import stack_search
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stack_search import StackSearch, different_rows, stacked
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.stacks import RowsTime, StackedShape, Stacks
from tests.invariants.own_machine import own_machine
from tests.runtime.runtime_models import read_text

QUERY = {"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)}


@pytest.fixture(scope="module")
def machine() -> Iterator[_core.Machine]:
    with own_machine("cpu:2,emulated:gpu") as made:
        yield made


def search(text: str, folder: Path, machine: _core.Machine, query: Any = QUERY) -> StackSearch:
    graph = read_text(text, folder)
    return StackSearch(graph, whole_plan(graph, parse_devices("cpu:1")), machine, query)


TANH = "m (float[b, 8] x) => (float[b, 8] y) { y = Tanh(x) }"


def pretended(monkeypatch: pytest.MonkeyPatch, ns_of: dict[int, int]) -> None:
    """Calls that take what is said, by rows; those between as the next one."""

    def times(asked: Any, rows: Any) -> list[RowsTime]:
        return [RowsTime(size, ns) for size, ns in ns_of.items()]

    monkeypatch.setattr(stack_search, "_times", times)


def test_what_gains_is_stacked_up_to_where_more_gains_no_more(
    tmp_path: Path, machine: _core.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch, {1: 1_000, 2: 1_100, 4: 1_400, 8: 2_700, 16: 5_400})
    found = search(TANH, tmp_path, machine).found()
    assert found.why_not == ""
    assert found.times == (RowsTime(1, 1_000), RowsTime(2, 1_100), RowsTime(4, 1_400))
    assert found.shapes == (StackedShape("x", 1, (8,)),)
    assert found.same_from == 1


def test_what_gains_nothing_is_not(
    tmp_path: Path, machine: _core.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch, {1: 1_000, 2: 1_950, 4: 3_800})
    assert search(TANH, tmp_path, machine).found() == Stacks("it gains nothing")


def test_times_never_fall_with_more_rows(
    tmp_path: Path, machine: _core.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch, {1: 1_000, 2: 1_500, 4: 1_200})
    assert [time.ns for time in search(TANH, tmp_path, machine).found().times] == [
        1_000,
        1_500,
        1_500,
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("m (float[1, 8] x) => (float[1, 8] y) { y = Tanh(x) }", "no open leading dimension"),
        ("m (float[b, 8] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", "output 'y' has no"),
        (
            "m (float[b, 8] x) => (float[b, 8] y) { z = Constant<value_ints = [0]>()"
            " m = ReduceMean<keepdims = 1>(x, z) y = Sub(x, m) }",
            "ReduceMean 'ReduceMean:m' may mix rows",
        ),
        ("m (float[b, 8] x) => (float[b, 8] y) { y = Softmax<axis = 0>(x) }", "may mix rows"),
        ("m (float[b, 8] x) => (float[c, 8] y) { y = Transpose<perm = [0, 1]>(x) }", ""),
        (
            "m (float[b, 8] x) => (float[c, 4] y) { s = Constant<value_ints = [-1, 4]>()"
            " y = Reshape(x, s) }",
            "output 'y' does not follow the rows",
        ),
    ],
)
def test_the_rule_says_why_not(
    tmp_path: Path,
    machine: _core.Machine,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    why: str,
) -> None:
    pretended(monkeypatch, {1: 1_000, 2: 1_100})
    found = search(text, tmp_path, machine).found()
    assert why in found.why_not
    assert bool(found.why_not) == bool(why)


def test_a_shape_that_is_computed_from_the_input_is_followed(
    tmp_path: Path, machine: _core.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch, {1: 1_000, 2: 1_100})
    text = """m (float[b, 8] x) => (float[b, 2, 4] y) {
        first = Shape<start = 0, end = 1>(x)
        rest = Constant<value_ints = [2, 4]>()
        shape = Concat<axis = 0>(first, rest)
        y = Reshape(x, shape)
    }"""
    assert search(text, tmp_path, machine).found().why_not == ""


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            "m (string[b, 1] x) => (string[b, 1] y) { y = Identity(x) }",
            {"x": np.array([["a"]], "O")},
        ),
        (
            "m (seq(float[b, 8]) x) => (float[b, 8] y) { i = Constant<value_int = 0>()"
            " y = SequenceAt(x, i) }",
            {"x": [QUERY["x"]]},
        ),
    ],
)
def test_strings_and_sequences_are_not_stacked(
    tmp_path: Path, machine: _core.Machine, text: str, query: Any
) -> None:
    found = search(text, tmp_path, machine, query).found()
    assert found.why_not == "input 'x' is no tensor of numbers"


def test_a_query_whose_inputs_differ_in_rows_is_not(tmp_path: Path, machine: _core.Machine) -> None:
    text = "m (float[b, 8] x, float[c, 8] z) => (float[b, 8] y) { y = Add(x, z) }"
    query = {**QUERY, "z": np.ones((3, 8), np.float32)}
    found = search(text, tmp_path, machine, query).found()
    assert found.why_not == "inputs of a query differ in their leading dimension"


class _Model:
    """Answers ``x`` with an error that depends on how many rows are asked for, and where."""

    def __init__(self, error_of) -> None:
        self._error_of = error_of

    def __call__(self, rows: list) -> tuple[dict[str, Any], int]:
        x = stacked(rows)["x"].astype(np.float64)
        errors = [self._error_of(len(rows), place) for place in range(len(rows))]
        return {"y": x + np.array(errors)[:, np.newaxis]}, 1


@pytest.mark.parametrize(
    ("error_of", "same_from"),
    [
        (lambda rows, place: 0.0, 1),
        (lambda rows, place: 1e-12 if rows == 1 else 0.0, 2),
        (lambda rows, place: 1e-12 if rows == 3 else 0.0, 4),
        (lambda rows, place: 1e-12 * place, 0),
        (lambda rows, place: 1.0 if rows > 1 else 0.0, None),
    ],
)
def test_bits_are_compared_in_every_size_and_place(error_of, same_from: int | None) -> None:
    rows = different_rows(QUERY, 8)
    assert stack_search._same_from(_Model(error_of), rows) == same_from


def test_rows_that_are_compared_differ() -> None:
    rows = different_rows({**QUERY, "id": np.arange(3).reshape(3, 1)}, 6)
    for one, other in itertools.combinations(rows, 2):
        assert not np.array_equal(one["x"], other["x"])
    assert [int(row["id"][0, 0]) for row in rows] == [0, 1, 2, 0, 1, 2]


def test_times_are_measured(tmp_path: Path, machine: _core.Machine) -> None:
    found = search(TANH, tmp_path, machine)
    times = stack_search._times(_asked(found), different_rows(QUERY, 32))
    assert [time.rows for time in times] == [1, 2, 4, 8, 16, 32]
    assert all(time.ns > 0 for time in times)


def _asked(found: StackSearch) -> Any:
    from surplus.engine.runtime.ports import Ports
    from surplus.engine.runtime.prepared import prepare

    ports = Ports(found._graph)
    native = prepare(found._graph, found._plan, found._machine, ports).native
    return stack_search._Asked(ports, native)


@pytest.mark.parametrize("value", [-1, 1025])
def test_a_bad_number_is_named(value: int) -> None:
    with pytest.raises(ConfigError, match=f"max_batch must be 0 to 1024, got {value}"):
        LoadParams(max_batch=value)


def test_what_others_chose_is_what_the_model_uses() -> None:
    found = Stacks("it gains nothing")
    use = LoadParams(max_batch=4, relaxed_numerics=True).stacks(found)
    assert (use.found, use.any_bits, use.max_rows) == (found, True, 4)
