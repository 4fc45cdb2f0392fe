"""Open loop: queries leave at their intended times, whatever becomes of the earlier ones.

Latency counts from the *intended* time: a server that stalls is charged with the wait of the
queries that it kept from being sent (no coordinated omission).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from surplus.loadgen.client import QuerySender
from surplus.loadgen.clock import LoadClock
from surplus.loadgen.flight import fly
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import OVERFLOW, Recorder


@dataclass(frozen=True)
class OpenLoopParams:
    """An open loop.

    Parameters
    ----------
    load : LoadgenParams
        How long it lasts.
    max_outstanding : int
        Queries in flight at most, >= 1; further ones are not sent and count as ``overflow``.
    """

    load: LoadgenParams = field(default_factory=LoadgenParams)
    max_outstanding: int = 4096

    def __post_init__(self) -> None:
        if self.max_outstanding < 1:
            raise ValueError(f"max_outstanding must be >= 1, got {self.max_outstanding}")


async def run_open_loop(
    client: QuerySender,
    offsets_ns: Iterator[int],
    params: OpenLoopParams,
    recorder: Recorder,
    clock: LoadClock,
) -> None:
    """Send queries at ``offsets_ns`` from now and return when all answers are there.

    Parameters
    ----------
    client : QuerySender
        Where queries go; an exception other than ClientError ends the run.
    offsets_ns : iterator of int
        Intended send times (see ``surplus.loadgen.arrivals``).
    recorder : Recorder
        Receives a row per query.
    """
    start_ns = clock.now_ns()
    measure_from_ns = start_ns + params.load.warmup_ns
    recorder.measure_from(measure_from_ns)
    flights: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        for offset_ns in offsets_ns:
            intended_ns = start_ns + offset_ns
            if params.load.is_over(intended_ns - measure_from_ns, recorder.measured_count):
                break
            await clock.sleep_until_ns(intended_ns)
            sent_ns = clock.now_ns()
            row = recorder.begin(intended_ns, sent_ns)
            if len(flights) >= params.max_outstanding:
                recorder.finish(row, sent_ns, OVERFLOW)
                continue
            flight = group.create_task(fly(client, row, recorder, clock))
            flights.add(flight)
            flight.add_done_callback(flights.discard)
