"""Models in this process, by a runtime: what is left when there is no server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType

from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.clients.in_process import InProcessClient
from surplus.loadgen.clients.inputs import make_queries
from surplus.loadgen.clients.onnx_inputs import onnx_inputs
from surplus.loadgen.clients.tensors import Answer, to_array
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import ClientError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.progress import LoadWatcher, show_progress
from surplus.loadgen.query_plan import QueryPlan
from surplus.loadgen.record import Recorder
from surplus.loadgen.runtimes import RUNTIMES
from surplus.loadgen.runtimes.runtime import LoadedModel
from surplus.loadgen.targets.counted_requests import CountedRequests
from surplus.loadgen.targets.feed import ThreadedFeed
from surplus.loadgen.targets.target import TARGETS
from surplus.loadgen.threaded_loop import run_threaded_loop

_THREADS_PER_CORE = 2


class InProcessTarget:
    """ONNX files in a runtime; callers are threads of this process.

    An open loop has ``--connections`` threads, two a core by default; queries that find none free
    wait for one, and their wait is latency. Deadlines are not kept.
    """

    def __init__(self, params: MeasureParams, kinds: Sequence[AskedModel]) -> None:
        self._params, self._kinds = params, kinds
        cores = len(os.sched_getaffinity(0))
        self._threads = params.transport.connections or _THREADS_PER_CORE * cores
        self._stack = ExitStack()
        self._calls: list[Callable[[], Answer]] = []

    async def __aenter__(self) -> InProcessTarget:
        with self._stack:
            loaded: dict[str, LoadedModel] = {}
            counts = []
            for kind in self._kinds:
                if kind.name not in loaded:
                    loaded[kind.name] = RUNTIMES[self._params.transport.protocol](kind.name)
                    self._stack.callback(loaded[kind.name].close)
                counts.append(self._prepare(kind, loaded[kind.name]))
            self._requests = CountedRequests(self._kinds, counts)
            self._stack = self._stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._calls.clear()
        self._stack.close()

    async def run(
        self, loop: ClosedLoopParams | OpenLoopParams, plan: QueryPlan, watcher: LoadWatcher
    ) -> Measurement:
        """Run a load by threads: one a user, or a pool of them."""
        turns = plan.turns(self._requests.counts).tolist()

        def call(query: int) -> object:
            return self._answer(turns[query % len(turns)])

        if isinstance(loop, ClosedLoopParams):
            clock = MonotonicClock()
            run = partial(run_threaded_loop, call, loop, clock, turns)
            records = await asyncio.get_running_loop().run_in_executor(None, run)
            return self._requests.measurement(records, False, None)
        recorder, clock = Recorder(turns=turns), MonotonicClock()
        client = InProcessClient(call, self._threads)
        try:
            async with show_progress(loop.load, recorder, clock, watcher):
                offsets_ns = iter(plan.offsets_ns.tolist())
                await run_open_loop(client, offsets_ns, loop, recorder, clock)
        finally:
            client.close()
        return self._requests.measurement(recorder.records(), True, None)

    def feed(self, keeps: bool = False) -> ThreadedFeed:
        """Queries one by one, by a pool of threads."""
        return ThreadedFeed(self._answer, len(self._calls), self._threads, keeps)

    def _prepare(self, kind: AskedModel, model: LoadedModel) -> int:
        queries = make_queries(kind.inputs, onnx_inputs(kind.name))
        for query in queries:
            feed = {tensor.name: to_array(tensor) for tensor in query}
            self._calls.append(partial(model.run, feed, kind.priority))
        return len(queries)

    def _answer(self, request: int) -> Answer:
        try:
            return self._calls[request]()
        except Exception as error:  # of whichever runtime: that query failed
            raise ClientError(type(error).__name__, str(error)) from error


for _runtime in RUNTIMES:
    TARGETS[_runtime] = InProcessTarget
