"""One measurement of a served model, from the command line's parameters to a summary."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from rich.console import Console

from surplus.loadgen.arrivals import ARRIVALS
from surplus.loadgen.client import Client
from surplus.loadgen.clients.grpc_client import GrpcClient
from surplus.loadgen.clients.inputs import make_inputs
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.generator import Generator
from surplus.loadgen.measure_native import grpc_target, http_target, measure_natively
from surplus.loadgen.measure_params import ArrivalParams, MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.progress import show_progress
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import summarise
from surplus.loadgen.which_client import python_because


async def measure(params: MeasureParams, console: Console) -> Measurement:
    """Run the load against the server.

    Raises
    ------
    LoadgenError
        If the server cannot be reached, the inputs cannot be made, or there is no native client
        where one is asked for.
    """
    reason = python_because(params)
    if params.transport.protocol == "http":
        return await measure_natively(params, http_target(params), _offsets_ns(params), console)
    target = (params.url, params.model, params.version, params.timeout_s)
    async with GrpcClient(*target, params.transport.tls) as client:
        tensors = make_inputs(params.inputs, await client.inputs())
        if reason is None:
            with grpc_target(params, tensors) as native:
                return await measure_natively(params, native, _offsets_ns(params), console)
        client.prepare([tensors])
        is_meant = params.transport.client == "python" or params.transport.tls is not None
        instead = "" if is_meant else reason
        return await _measure_in_python(client, params, console, instead)


async def _measure_in_python(
    client: Client, params: MeasureParams, console: Console, instead: str
) -> Measurement:
    recorder, clock, loop = Recorder(), MonotonicClock(), params.loop
    began_ns, computed_ns = time.monotonic_ns(), time.thread_time_ns()
    async with show_progress(loop.load, recorder, clock, console):
        await _run(client, params, recorder, clock)
    took_ns = max(1, time.monotonic_ns() - began_ns)
    share = min(1.0, (time.thread_time_ns() - computed_ns) / took_ns)
    generator = Generator("python", 1, 1, share, share, instead=instead)
    is_open = isinstance(loop, OpenLoopParams)
    records = recorder.records()
    return Measurement(summarise(records, is_open, generator), records)


async def _run(
    client: Client, params: MeasureParams, recorder: Recorder, clock: MonotonicClock
) -> None:
    if isinstance(params.loop, ClosedLoopParams):
        return await run_closed_loop(client, params.loop, recorder, clock)
    return await run_open_loop(client, _offsets_ns(params), params.loop, recorder, clock)


def _offsets_ns(params: MeasureParams) -> Iterator[int]:
    """Intended send times of an open loop."""
    arrivals: ArrivalParams = params.arrivals
    generator = np.random.default_rng(arrivals.seed)
    return ARRIVALS[arrivals.process](arrivals.rate_per_s, generator)
