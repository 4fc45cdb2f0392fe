"""The native client's part of a measurement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.native_load import NativeLoad, NativeParams, NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.progress import LoadWatcher, show_progress
from surplus.loadgen.query_plan import QueryPlan
from surplus.loadgen.targets.counted_requests import CountedRequests
from surplus.loadgen.targets.feed import NativeFeed
from surplus.loadgen.transport import TransportParams

_FED_CONNECTIONS = 16

FED_PATIENCE_NS = 1_000_000_000
"""Queries that are lost make a fed run worthless, so that it need not wait for long."""


async def run_natively(
    requests: CountedRequests,
    target: NativeTarget,
    transport: TransportParams,
    loop: ClosedLoopParams | OpenLoopParams,
    plan: QueryPlan,
    watcher: LoadWatcher,
) -> Measurement:
    """Run the load in threads of its own while a bar shows how far it is.

    Raises
    ------
    TargetError
        If the server cannot be reached, or does not take all connections.
    """
    native = NativeParams(transport.connections, transport.threads, transport.compares)
    turns = plan.turns(requests.counts)
    load = NativeLoad(target, loop, native, plan.offsets_ns, turns)
    async with show_progress(loop.load, load, MonotonicClock(), watcher):
        running = asyncio.get_running_loop().run_in_executor(None, load.run)
        try:
            records = await asyncio.shield(running)
        except asyncio.CancelledError:
            load.stop()
            await running
            raise
    return requests.measurement(records, isinstance(loop, OpenLoopParams), load.generator)


def feed_natively(
    target: NativeTarget,
    transport: TransportParams,
    read: Callable[[bytes], Answer],
    keeps: bool,
) -> NativeFeed:
    """Queries one by one, over as many connections as an open loop has.

    Parameters
    ----------
    read : callable
        Makes arrays of the bytes of answers, which are kept if ``keeps``.
    """
    connections = transport.connections or _FED_CONNECTIONS
    once = ClosedLoopParams(LoadgenParams(min_count=1, min_duration_ns=0), connections)
    native = NativeParams(
        connections, compares=transport.compares, keeps=keeps, patience_ns=FED_PATIENCE_NS
    )
    return NativeFeed(NativeLoad(target, once, native), len(target.requests), read)
