"""Queries that wait at the same time are answered by one call, each as if it were alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.stack_use import StackUse
from surplus.engine.runtime.stacks import RowsTime, StackedShape, Stacks
from surplus.engine.segmentation.plan import Plan
from tests.invariants.own_machine import own_machine
from tests.runtime.held_lane import held_lane
from tests.runtime.runtime_models import read_text

PERCEPTRON = """
perceptron (int64[batch] id, float[batch, 4] x) => (float[batch, 2] y, float[batch, 3] row)
<float[4, 2] weight = {0.5, -1, 2, 0.25, 1, 1, -3, 0.125},
 float[2, 3] table = {1, 2, 3, 4, 5, 6}> {
  product = MatMul (x, weight)
  y = Tanh (product)
  row = Gather (table, id)
}
"""


def of_two(times: tuple[RowsTime, ...] = (RowsTime(1, 100_000), RowsTime(8, 200_000))) -> Stacks:
    """What is to be known of ``PERCEPTRON``."""
    return Stacks("", (StackedShape("id", 7, ()), StackedShape("x", 1, (4,))), times, 1)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(PERCEPTRON, tmp_path_factory.mktemp("stacks"))


@pytest.fixture
def machine() -> Iterator[_core.Machine]:
    """One of the test's own, whose only lane it can hold."""
    with own_machine("cpu:1,emulated:gpu") as made:
        yield made


def model_of(graph: Graph, machine: _core.Machine, use: StackUse) -> PlannedModel:
    model = PlannedModel(graph, plan_of(graph), machine, Departure.NEVER)
    model.be_stacked(use)
    return model


def plan_of(graph: Graph) -> Plan:
    return whole_plan(graph, parse_devices("cpu:1"))


def queries(count: int, rows: int = 1) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(count)
    return [
        {
            "x": rng.standard_normal((rows, 4), np.float32),
            "id": rng.integers(0, 2, rows),
        }
        for _ in range(count)
    ]


def answers_of(model: PlannedModel, asked: list) -> list[dict[str, np.ndarray]]:
    """Asked while the lane is held, so that all of them wait."""
    with held_lane(model._machine):
        futures = [model.submit(query) for query in asked]
    return [future.result() for future in futures]


def assert_same(found: list, right: list) -> None:
    assert len(found) == len(right)
    for ours, theirs in zip(found, right, strict=True):
        assert list(ours) == list(theirs)
        for name, value in theirs.items():
            np.testing.assert_array_equal(ours[name], value, strict=True)


def test_each_query_gets_its_own_answer_with_the_bits_it_has_alone(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    asked = [*queries(5), *queries(3, rows=3)]
    alone = [model.run(query) for query in asked]
    assert model.stacked == (0, 0)
    assert_same(answers_of(model, asked), alone)
    calls, together = model.stacked
    assert (calls, together) == (2, 8)  # of 8 rows, then of 6: no query is cut


def test_an_answer_does_not_share_memory_with_others(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    one, other = answers_of(model, queries(2))
    assert model.stacked == (1, 2)
    ((size, (calls, took_ns)),) = model.stack_sizes.items()
    assert (size, calls) == (2, 1)
    assert took_ns > 0
    kept = other["y"].copy()
    assert one["y"].base is not other["y"].base or not np.shares_memory(one["y"], other["y"])
    del one
    np.testing.assert_array_equal(other["y"], kept)


def test_bad_data_fails_its_own_query_only(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    asked = queries(3)
    asked[1]["id"][:] = 99  # in no table
    with held_lane(model._machine):
        futures = [model.submit(query) for query in asked]
    with pytest.raises(ExecutionError, match="indices"):
        futures[1].result()
    assert_same(
        [futures[0].result(), futures[2].result()], [model.run(asked[0]), model.run(asked[2])]
    )
    assert model.stacked == (0, 0)


def test_other_sizes_are_answered_alone(graph, machine) -> None:
    other = Stacks("", (StackedShape("x", 1, (5,)), StackedShape("id", 7, ())), of_two().times, 1)
    model = model_of(graph, machine, StackUse(other))
    asked = queries(3)
    assert_same(answers_of(model, asked), [model.run(query) for query in asked])
    assert model.stacked == (0, 0)


def test_inputs_of_different_rows_are_answered_alone(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    asked = [{"x": np.ones((2, 4), np.float32), "id": np.zeros(1, np.int64)}] * 3
    alone = model.run(asked[0])
    assert alone["row"].shape == (1, 3)
    assert_same(answers_of(model, asked), [alone] * 3)
    assert model.stacked == (0, 0)


def test_fewer_rows_where_fewer_are_allowed(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two(), max_rows=2))
    asked = queries(4)
    assert_same(answers_of(model, asked), [model.run(query) for query in asked])
    assert model.stacked == (2, 4)


def test_a_limit_bounds_what_was_asked_for_and_what_was_measured(graph, machine) -> None:
    for use in (StackUse(of_two(), limit_rows=2), StackUse(of_two(), max_rows=8, limit_rows=2)):
        model = model_of(graph, machine, use)
        answers_of(model, queries(4))
        assert model.stacked == (2, 4)
    assert StackUse(of_two(), max_rows=2, limit_rows=8).facts["batches"].startswith("up to 2 rows")


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (StackUse(of_two(), max_rows=0), "off"),
        (StackUse(of_two(), limit_rows=0), "off"),
        (StackUse(of_two(), max_rows=1), "off"),
        (StackUse(), "not measured yet"),
        (StackUse(Stacks("it gains nothing")), "it gains nothing"),
        (
            StackUse(Stacks("", of_two().shapes, of_two().times, 0)),
            "the bits would be others (--any-bits allows it)",
        ),
    ],
)
def test_queries_are_answered_one_by_one(graph, machine, use: StackUse, why: str) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    model.be_stacked(use)  # it was on before
    assert use.refusal == why
    asked = queries(3)
    assert_same(answers_of(model, asked), [model.run(query) for query in asked])
    assert model.stacked == (0, 0)
    assert model.facts.get("batches", f"none: {why}") == f"none: {why}"


def test_what_saves_little_is_batched_where_it_is_asked_for() -> None:
    little = of_two((RowsTime(1, 25_000), RowsTime(8, 80_000)))
    why = "a row saves 15.0 us only (a number of rows asks for it)"
    assert StackUse(little).refusal == why
    assert StackUse(little, limit_rows=8).refusal == why
    assert StackUse(little, max_rows=8).refusal == ""


def test_other_bits_are_for_who_allows_them() -> None:
    never = Stacks("", of_two().shapes, of_two().times, 0)
    assert StackUse(never, any_bits=True).refusal == ""
    from_three = Stacks("", of_two().shapes, of_two().times, 3)
    assert from_three.least_rows(any_bits=False) == 3
    assert from_three.least_rows(any_bits=True) == 1


def test_queries_of_too_few_rows_are_answered_alone(graph, machine) -> None:
    from_two = Stacks("", of_two().shapes, of_two().times, 2)
    model = model_of(graph, machine, StackUse(from_two))
    asked = [*queries(2), *queries(2, rows=2)]
    answers_of(model, asked)
    assert model.stacked == (1, 2)


def test_times_between_those_measured_are_filled_in() -> None:
    times = (RowsTime(1, 100_000), RowsTime(2, 110_000), RowsTime(4, 150_000))
    found = of_two(times)
    assert found.takes_ns(4) == [100_000, 110_000, 130_000, 150_000]
    assert found.takes_ns(2) == [100_000, 110_000]
    assert StackUse(found).facts == {"batches": "up to 4 rows, then 0.38 of the time a row"}
    assert StackUse(replace(found, same_from=2)).facts == {
        "batches": "up to 4 rows of queries of 2 and more, then 0.38 of the time a row"
    }


def test_what_the_core_refuses_is_named(graph, machine) -> None:
    native = model_of(graph, machine, StackUse()).native
    with pytest.raises(ValueError, match="node reads 2 values, got shapes of 1"):
        native.stack([(1, [4])], [10, 11])
    with pytest.raises(ValueError, match="element type 8 are not stacked"):
        native.stack([(8, [4]), (7, [])], [10, 11])
    with pytest.raises(ValueError, match="2 rows at most, got queries of at least 3"):
        native.stack([(1, [4]), (7, [])], [10, 11], 3)
    assert native.stacks == (0, 0)


def test_a_traced_query_says_with_how_many_it_was_answered(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    with held_lane(model._machine):
        futures = [model.submit(query, traced=True) for query in queries(3)]
        futures += [model.submit(query, traced=True) for query in queries(1, rows=8)]
    for future in futures:
        future.result()
    answered = [[span.queries for span in future.timeline()] for future in futures]
    assert answered == [[3], [3], [3], [1]]  # the last one is as large as a batch may be


def test_so_does_one_that_was_run(graph, machine) -> None:
    model = model_of(graph, machine, StackUse(of_two()))
    model.run(queries(1)[0], traced=True)
    assert [span.queries for span in model.timeline()] == [1]


def test_callers_who_wait_are_answered_together_and_rightly(graph) -> None:
    with own_machine("cpu:2,emulated:gpu") as machine:
        model = model_of(graph, machine, StackUse(of_two()))
        asked = queries(64)
        alone = [model.run(query) for query in asked]
        found: dict[int, dict] = {}

        def ask(first: int) -> None:
            for i in range(first, len(asked), 8):
                found[i] = model.run(asked[i])

        callers = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert_same([found[i] for i in range(len(asked))], alone)
