"""The native client's part of a measurement."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from surplus.loadgen.address import parse_address
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.inputs import make_inputs
from surplus.loadgen.clients.rest_request import rest_inputs, rest_request
from surplus.loadgen.clients.shared_queries import SharedQueries
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.clock import NS_PER_S, MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.native_load import NativeLoad, NativeParams, NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.progress import show_progress
from surplus.loadgen.stats import summarise

_CONNECT_S = 10.0
_MOST_REGIONS = 64


@contextmanager
def grpc_target(params: MeasureParams, tensors: Sequence[RawTensor]) -> Iterator[NativeTarget]:
    """Queries of these inputs over gRPC, which may lie in shared memory meanwhile.

    Raises
    ------
    TargetError
        If the server takes no regions of shared memory, and it is asked to.
    """
    address = parse_address(params.url)
    timeout_ns = round(params.timeout_s * NS_PER_S)
    headers = call_headers(str(address), timeout_ns)
    asked = (params.model, params.version, tensors)
    if not params.transport.shares_memory:
        yield NativeTarget(address, [framed(infer_request(*asked))], headers, timeout_ns)
        return
    with SharedQueries(address, *asked, _regions(params.loop)) as requests:
        yield NativeTarget(address, [framed(one) for one in requests], headers, timeout_ns)


def _regions(loop: ClosedLoopParams | OpenLoopParams) -> int:
    """For outputs: one for each query that is in flight, up to a bound."""
    users = loop.max_outstanding if isinstance(loop, OpenLoopParams) else loop.users
    return min(users, _MOST_REGIONS)


def http_target(params: MeasureParams) -> NativeTarget:
    """Queries over HTTP/1.1 with binary tensors, of the inputs that the server says.

    Raises
    ------
    LoadgenError
        If it cannot be reached, does not know the model, or the inputs cannot be made.
    """
    address = parse_address(params.url)
    asked = (address, params.model, params.version)
    tensors = make_inputs(params.inputs, rest_inputs(*asked, _CONNECT_S))
    timeout_ns = round(params.timeout_s * NS_PER_S)
    return NativeTarget(address, [rest_request(*asked, tensors)], timeout_ns=timeout_ns)


async def measure_natively(
    params: MeasureParams, target: NativeTarget, offsets_ns: Iterator[int], console: Console
) -> Measurement:
    """Run the load in threads of its own while a bar shows how far it is.

    Raises
    ------
    TargetError
        If the server cannot be reached, or does not take all connections.
    """
    transport = params.transport
    native = NativeParams(transport.connections, transport.threads, transport.compares)
    load = NativeLoad(target, params.loop, native, offsets_ns)
    async with show_progress(params.loop.load, load, MonotonicClock(), console):
        running = asyncio.get_running_loop().run_in_executor(None, load.run)
        try:
            records = await asyncio.shield(running)
        except asyncio.CancelledError:
            load.stop()
            await running
            raise
    is_open = isinstance(params.loop, OpenLoopParams)
    return Measurement(summarise(records, is_open, load.generator), records)
