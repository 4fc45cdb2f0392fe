"""Waits for the first lane, from runs that pretend and from real ones."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.runtime.queue_sample import QueueSample, rate_for
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.segmentation.plan import Plan
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.placement.timeline import Timeline
from tests.runtime.held_lane import held_lane
from tests.runtime.pretended import spans_of
from tests.runtime.runtime_models import ADD, model_of, read_text

LONG_NS = 50_000_000
HELD_NS = 5_000_000


class Spans:
    """A run of nodes (lane, start); lane -1 did not run."""

    def __init__(self, *nodes: tuple[int, int]) -> None:
        self._rows = [(i, lane, 0, start, start + 1) for i, (lane, start) in enumerate(nodes)]

    def spans(self) -> Any:
        return np.array(self._rows, np.int64).reshape(-1, 5)


def _look(sample: QueueSample, *nodes: tuple[int, int]) -> None:
    run: Any = Spans(*nodes)
    sample.look(run)


def test_the_first_of_so_many_is_looked_at() -> None:
    sample = QueueSample(3)
    assert [sample.is_due() for _ in range(7)] == [True, False, False, True, False, False, True]
    with pytest.raises(ValueError, match="every is 0"):
        QueueSample(0)


def test_each_answered_query_counts_with_the_last_wait_seen() -> None:
    sample = QueueSample(2)
    _look(sample, (-1, 0), (1, 700), (0, 40))
    sample.answered()
    sample.answered()
    assert sample.queued_ns == 80
    _look(sample, (0, 5))
    sample.answered()
    assert sample.queued_ns == 85
    _look(sample)  # nothing to run
    sample.answered()
    assert sample.queued_ns == 85


@pytest.mark.parametrize(
    ("makespan_ns", "every"), [(0, 64), (100_000, 41), (1_000_000, 5), (10_000_000, 1)]
)
def test_long_queries_are_looked_at_more_often(
    makespan_ns: int, every: int, tmp_path: Path
) -> None:
    plan: Plan = model_of(read_text(ADD, tmp_path), whole=True).plan
    assert rate_for(replace(plan, predicted=spans_of([makespan_ns]))) == every


SQUARE = """square (float[n, n] x) => (float[n, n] y) {
    t = MatMul(x, x)  u = MatMul(t, x)  y = MatMul(u, t)
}"""


def test_queries_wait_for_those_before_them(tmp_path: Path) -> None:
    model = model_of(read_text(SQUARE, tmp_path), whole=True)
    long = replace(model.plan.predicted.spans[0], end_ns=LONG_NS)
    model.plan = replace(model.plan, predicted=Timeline((long,), "predicted"))
    executor, query = ModelExecutor(ServedAlone(model)), {"x": np.eye(500, dtype=np.float32)}

    async def together(count: int) -> None:
        with held_lane(model._machine):
            asked = [asyncio.ensure_future(executor.infer(query, None, None)) for _ in range(count)]
            while model._machine.stats()["runs_in_flight"] <= count:
                await asyncio.sleep(0)
            until_ns = time.perf_counter_ns() + HELD_NS
            while time.perf_counter_ns() < until_ns:
                pass
        await asyncio.gather(*asked)

    asyncio.run(together(6))
    assert executor.queued_ns >= 6 * HELD_NS
