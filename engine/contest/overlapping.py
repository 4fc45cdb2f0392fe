"""A model as a contender whose queries overlap: the first to end lets most of them through."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol

from surplus.engine.contest.contest import Clock, ContestTurn
from surplus.engine.runtime.future import Future
from surplus.placement.timeline import Timeline

_BATCHES = 2
"""A turn answers so many times as many queries as are in flight."""


class TakesQueries(Protocol):
    """A model, or several that share its queries."""

    def submit(self, inputs: Mapping[str, Any], /) -> Future:
        """Start a query."""
        ...


class InTurn:
    """Models that answer in turn; for one thread."""

    def __init__(self, models: Sequence[TakesQueries]) -> None:
        self._models = cycle(models)

    def submit(self, inputs: Mapping[str, Any], /) -> Future:
        """Start a query on the next one."""
        return next(self._models).submit(inputs)


@dataclass(frozen=True)
class OverlappingQueries:
    """A model that answers the same inputs again and again, so many at once.

    Parameters
    ----------
    in_flight : int
        Queries at a time, >= 1.
    """

    model: TakesQueries
    inputs: Mapping[str, Any]
    in_flight: int
    clock: Clock = time.perf_counter_ns

    def run(self) -> None:
        """Answer a batch: a query is asked when the one before the last ``in_flight`` is done."""
        asked: deque[Future] = deque()
        for _ in range(_BATCHES * self.in_flight):
            if len(asked) == self.in_flight:
                asked.popleft().result()
            asked.append(self.model.submit(self.inputs))
        for future in asked:
            future.result()

    def run_traced(self) -> ContestTurn:
        """Answer a batch; return what that took, without spans."""
        began_ns = self.clock()
        self.run()
        wall_ns = self.clock() - began_ns
        return ContestTurn(wall_ns, Timeline((), "queries that overlap"), wall_ns)
