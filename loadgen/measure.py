"""One measurement of a served model, from the command line's parameters to a summary."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rich.console import Console

from surplus.loadgen.arrivals import ARRIVALS
from surplus.loadgen.client import Client
from surplus.loadgen.clients.grpc_client import GrpcClient
from surplus.loadgen.clients.inputs import InputParams, make_inputs
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.progress import show_progress
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import LoadSummary, summarise


@dataclass(frozen=True)
class ArrivalParams:
    """The intended send times of an open loop: process, rate in queries per second, seed."""

    process: str = "poisson"
    rate_per_s: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.process not in ARRIVALS:
            raise ValueError(f"unknown arrivals {self.process!r}; there are: {', '.join(ARRIVALS)}")
        if not 0 < self.rate_per_s < float("inf"):
            raise ValueError(f"rate_per_s must be > 0 and finite, got {self.rate_per_s}")


@dataclass(frozen=True)
class MeasureParams:
    """What to measure: a model of a server, its inputs, a closed or an open loop.

    ``loop`` decides which; ``arrivals`` is read for an open loop only.
    """

    url: str
    model: str
    version: str = ""
    timeout_s: float = 60.0
    inputs: InputParams = field(default_factory=InputParams)
    loop: ClosedLoopParams | OpenLoopParams = field(default_factory=ClosedLoopParams)
    arrivals: ArrivalParams = field(default_factory=ArrivalParams)


async def measure(params: MeasureParams, console: Console) -> LoadSummary:
    """Run the load against the server.

    Raises
    ------
    LoadgenError
        If the server cannot be reached, or the inputs cannot be made.
    """
    recorder, clock, loop = Recorder(), MonotonicClock(), params.loop
    async with GrpcClient(params.url, params.model, params.version, params.timeout_s) as client:
        client.prepare([make_inputs(params.inputs, await client.inputs())])
        async with show_progress(loop.load, recorder, clock, console):
            await _run(client, params, recorder, clock)
    return summarise(recorder.records(), open_loop=isinstance(loop, OpenLoopParams))


async def _run(
    client: Client, params: MeasureParams, recorder: Recorder, clock: MonotonicClock
) -> None:
    if isinstance(params.loop, ClosedLoopParams):
        return await run_closed_loop(client, params.loop, recorder, clock)
    arrivals = params.arrivals
    generator = np.random.default_rng(arrivals.seed)
    offsets_ns = ARRIVALS[arrivals.process](arrivals.rate_per_s, generator)
    return await run_open_loop(client, offsets_ns, params.loop, recorder, clock)
