"""Closed loop: N users, each sends its next query when the answer to the last one is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from surplus.loadgen.client import QuerySender
from surplus.loadgen.clock import LoadClock
from surplus.loadgen.flight import fly
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder


@dataclass(frozen=True)
class ClosedLoopParams:
    """A closed loop.

    Parameters
    ----------
    load : LoadgenParams
        How long it lasts.
    users : int
        Queries in flight at any time, >= 1.
    """

    load: LoadgenParams = field(default_factory=LoadgenParams)
    users: int = 1

    def __post_init__(self) -> None:
        if self.users < 1:
            raise ValueError(f"users must be >= 1, got {self.users}")


async def run_closed_loop(
    client: QuerySender, params: ClosedLoopParams, recorder: Recorder, clock: LoadClock
) -> None:
    """Keep ``params.users`` queries in flight; return when the last answer is there.

    An exception other than ClientError ends the run.
    """
    measure_from_ns = clock.now_ns() + params.load.warmup_ns
    recorder.measure_from(measure_from_ns)

    async def use() -> None:
        while True:
            now_ns = clock.now_ns()
            if params.load.is_over(now_ns - measure_from_ns, recorder.measured_count):
                return
            await fly(client, recorder.begin(now_ns, now_ns), recorder, clock)

    async with asyncio.TaskGroup() as group:
        for _ in range(params.users):
            group.create_task(use())
