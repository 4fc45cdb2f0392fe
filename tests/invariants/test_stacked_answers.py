"""Any model whose queries may be answered together answers each of them as if it were alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning import stack_search
from surplus.engine.planning.stack_search import StackSearch
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.stack_use import StackUse
from surplus.engine.runtime.stacks import RowsTime
from tests.invariants.own_machine import check_empty, own_machine
from tests.invariants.random_models import COLUMNS, Reader, row_models
from tests.runtime.held_lane import held_lane

TIMES = [RowsTime(1, 100_000), RowsTime(2, 110_000), RowsTime(16, 200_000)]
"""Batches that always gain, so that only answers decide."""


@settings(
    max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    model=row_models(),
    rows=st.lists(st.integers(1, 5), min_size=2, max_size=12),
    any_bits=st.booleans(),
)
def test_answers_are_those_of_queries_one_by_one(
    read: Reader, model: onnx.ModelProto, rows: list[int], any_bits: bool
) -> None:
    graph = read(model)
    plan = whole_plan(graph, parse_devices("cpu:1"))
    rng = np.random.default_rng(len(rows))
    queries = [
        {name: rng.standard_normal((n, COLUMNS), np.float32) for name in ("x0", "x1")} for n in rows
    ]
    with own_machine("cpu:1,emulated:gpu") as machine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack_search, "_times", lambda *_: TIMES)
        found = StackSearch(graph, plan, machine, queries[0]).found()
        subject = PlannedModel(graph, plan, machine, Departure.NEVER)
        alone = [subject.run(query) for query in queries]
        use = StackUse(found, any_bits=any_bits)
        subject.be_stacked(use)
        with held_lane(machine):
            futures = [subject.submit(query) for query in queries]
        together = [future.result() for future in futures]
        assert (subject.stacked[0] > 0) <= (not use.refusal)
        for ours, theirs in zip(together, alone, strict=True):
            for name, value in theirs.items():
                if any_bits:
                    np.testing.assert_allclose(ours[name], value, rtol=1e-5, atol=1e-5, strict=True)
                else:
                    np.testing.assert_array_equal(ours[name], value, strict=True)
        del together, futures
        check_empty(machine)


def test_most_of_these_models_are_stacked(read: Reader) -> None:
    """Else the test above would show little."""
    seen: list[str] = []

    @settings(max_examples=25, derandomize=True, database=None)
    @given(model=row_models())
    def look(model: onnx.ModelProto) -> None:
        graph = read(model)
        plan = whole_plan(graph, parse_devices("cpu:1"))
        query = {name: np.ones((1, COLUMNS), np.float32) for name in ("x0", "x1")}
        with own_machine("cpu:1,emulated:gpu") as machine, pytest.MonkeyPatch.context() as patch:
            patch.setattr(stack_search, "_times", lambda *_: TIMES)
            seen.append(StackSearch(graph, plan, machine, query).found().why_not)

    look()
    assert seen.count("") > len(seen) / 2, seen
