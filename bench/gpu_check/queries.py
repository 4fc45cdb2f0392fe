"""Queries in this process: as fast as they are answered, or at random times at a given rate."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np

from bench.gpu_check.contender import Contender
from surplus.loadgen.arrivals import poisson
from surplus.loadgen.clock import MonotonicClock, precise_loop
from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import LoadSummary, summarise

IN_FLIGHT = (1, 4, 16)
"""Queries at a time among which the peak throughput is looked for."""

_MOST_OUTSTANDING = 256
_FEWEST = 5
"""Queries of a closed loop, however long they take."""


class _Client:
    """A contender as the load generator asks it."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender

    async def send(self, query: int) -> None:
        await self._contender.infer()


def closed_loop(contender: Contender, users: int, seconds: float) -> LoadSummary:
    """``users`` queries in flight for so long at least, after a quarter of that to warm up."""
    load = LoadgenParams(round(seconds * 1e9), warmup_ns=round(seconds * 2.5e8))
    recorder, clock = Recorder(), MonotonicClock()
    _until_done(run_closed_loop(_Client(contender), ClosedLoopParams(load, users), recorder, clock))
    return summarise(recorder.records(), open_loop=False)


def peak_per_s(contender: Contender, seconds: float) -> tuple[float, int]:
    """Most queries a second among the numbers in flight that are tried, and that number."""
    tries = {users: closed_loop(contender, users, seconds / 3) for users in IN_FLIGHT}
    best = max(tries, key=lambda users: tries[users].throughput_per_s)
    return tries[best].throughput_per_s, best


def under_poisson_load(
    contender: Contender, rate_per_s: float, seconds: float, seed: int = 1
) -> LoadSummary:
    """Queries at random times; latency counts from when they were meant to be sent."""
    load = LoadgenParams(round(seconds * 1e9), warmup_ns=round(seconds * 2.5e8))
    recorder, clock = Recorder(), MonotonicClock()
    offsets = poisson(rate_per_s, np.random.default_rng(seed))
    params = OpenLoopParams(load, _MOST_OUTSTANDING)
    _until_done(run_open_loop(_Client(contender), offsets, params, recorder, clock))
    return summarise(recorder.records(), open_loop=True)


def _until_done(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(work)
