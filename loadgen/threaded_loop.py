"""Closed loop over a synchronous callable in this process: a thread per user, no event loop."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from surplus.loadgen.clock import LoadClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import ClientError
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder, Records, merge


def run_threaded_loop(
    call: Callable[[int], object],
    params: ClosedLoopParams,
    clock: LoadClock,
    turns: Sequence[int] = (0,),
) -> Records:
    """Call ``call(query)`` from ``params.users`` threads at once.

    Parameters
    ----------
    call : callable
        Thread-safe; raises ClientError for a query that failed. Any other exception ends the
        run and is raised here.
    turns : sequence of int
        Which request each query sends, over and over; for the record.
    """
    run = _Run(call, params.load, clock, clock.now_ns() + params.load.warmup_ns, turns)
    barrier = threading.Barrier(params.users)

    def use() -> Records:
        barrier.wait()
        return run.use()

    with ThreadPoolExecutor(params.users, "loadgen-user") as pool:
        futures = [pool.submit(use) for _ in range(params.users)]
        return merge([future.result() for future in futures])


class _Run:
    """What the users share. ``next`` on a count is atomic, so it needs no lock."""

    def __init__(
        self,
        call: Callable[[int], object],
        load: LoadgenParams,
        clock: LoadClock,
        measure_from_ns: int,
        turns: Sequence[int],
    ) -> None:
        self._turns = turns
        self._call = call
        self._load = load
        self._clock = clock
        self._measure_from_ns = measure_from_ns
        self._queries = itertools.count()
        self._measured = itertools.count()
        self._broken = threading.Event()

    def use(self) -> Records:
        recorder = Recorder(turns=self._turns)
        recorder.measure_from(self._measure_from_ns)
        try:
            while (now_ns := self._admitted_ns()) is not None:
                self._send(recorder, now_ns)
        except BaseException:
            self._broken.set()
            raise
        return recorder.records()

    def _admitted_ns(self) -> int | None:
        now_ns = self._clock.now_ns()
        elapsed_ns = now_ns - self._measure_from_ns
        count = next(self._measured) if elapsed_ns >= 0 else 0
        over = self._broken.is_set() or self._load.is_over(elapsed_ns, count)
        return None if over else now_ns

    def _send(self, recorder: Recorder, now_ns: int) -> None:
        query = next(self._queries)
        row = recorder.begin(now_ns, now_ns, query)
        kind = ""
        try:
            self._call(query)
        except ClientError as error:
            kind = error.kind
        recorder.finish(row, self._clock.now_ns(), kind)
