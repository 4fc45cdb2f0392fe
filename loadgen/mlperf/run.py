"""A scenario of LoadGen on a target."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.first_look import look
from surplus.loadgen.hdr import latencies_ns
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.answers import Answers
from surplus.loadgen.mlperf.asking import Asking
from surplus.loadgen.mlperf.library import loadgen_version, run_loadgen, tell_loadgen
from surplus.loadgen.mlperf.params import MlperfParams
from surplus.loadgen.mlperf.result import (
    MlperfResult,
    incomplete_result,
    read_accuracy_logs,
    read_mlperf_log,
)
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.progress import LoadWatcher, show_progress
from surplus.loadgen.targets import target_of
from surplus.loadgen.targets.feed import Feeding

_LEAST_QUERIES = 20
"""Of the warm-up, which also tells LoadGen how fast queries may be answered."""


async def run_mlperf(
    params: MeasureParams,
    mlperf: MlperfParams,
    warmup_ns: int,
    folder: Path,
    console: Console,
    answers: Answers | None = None,
) -> MlperfResult:
    """Warm the target up, then run the scenario.

    A result that is not complete leaves LoadGen behind, which waits for answers in a thread that
    cannot be ended.

    Parameters
    ----------
    params : MeasureParams
        Whom to ask what; its loop is not run.
    mlperf : MlperfParams
    warmup_ns : int
        One user asks for so long, and a few queries at least, before LoadGen begins.
    folder : Path
        For LoadGen's logs; it is there, and can be written to.
    console : Console
        For progress.
    answers : Answers or None
        For accuracy: what collects them.

    Raises
    ------
    LoadgenError
        As ``measure``; if no query of the warm-up succeeds; if LoadGen comes to no result; if as
        many answers as the set has samples are not expected.
    """
    async with target_of(params, params.models) as target:
        warmup = LoadgenParams(warmup_ns, _LEAST_QUERIES)
        seen = await look(target, params, warmup, LoadWatcher(console, "warm-up"))
        expected_ns = int(latencies_ns(seen.records).min())
        feed = target.feed(keeps=answers is not None)
        asking, load = _asking(feed, mlperf, answers)
        watcher = LoadWatcher(console, mlperf.scenario)
        async with show_progress(load, asking, MonotonicClock(), watcher):
            run = partial(run_loadgen, feed, asking, mlperf, expected_ns, folder)
            judged = asyncio.get_running_loop().run_in_executor(None, run)
            either: list[asyncio.Future[Any]] = [judged, asyncio.wrap_future(asking.lost)]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if asking.lost.done():
        return incomplete_result(asking.lost.result(), asking.failed, loadgen_version())
    await judged
    if answers is None:
        return read_mlperf_log(folder, asking.failed)
    return read_accuracy_logs(folder, feed.requests, asking.failed, asking.said)


def _asking(
    feed: Feeding, mlperf: MlperfParams, answers: Answers | None
) -> tuple[Asking, LoadgenParams]:
    """What asks, and how far it has to go."""
    most = mlperf.most_in_flight
    if answers is None:
        load = LoadgenParams(min_duration_ns=mlperf.duration_ns)
        return Asking(feed, most, tell_loadgen), load
    answers.check(feed.requests)
    load = LoadgenParams(min_duration_ns=0, min_count=feed.requests)
    return Asking(feed, most, tell_loadgen, partial(answers.take, feed)), load
