"""A server over gRPC, by the native client where that can be used, else by Python's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from surplus.loadgen.address import parse_address
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.clients.answers import grpc_answer
from surplus.loadgen.clients.grpc_client import GrpcClient
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.inputs import make_queries
from surplus.loadgen.clients.shared_queries import SharedQueries
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.clock import NS_PER_S, MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.errors import TargetError
from surplus.loadgen.generator import Generator
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.native_load import NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.progress import LoadWatcher, show_progress
from surplus.loadgen.query_plan import QueryPlan
from surplus.loadgen.record import Recorder
from surplus.loadgen.targets.counted_requests import CountedRequests
from surplus.loadgen.targets.feed import NativeFeed
from surplus.loadgen.targets.native_run import feed_natively, run_natively
from surplus.loadgen.targets.target import TARGETS
from surplus.loadgen.which_client import python_because

_MOST_REGIONS = 64


class GrpcTarget:
    """Models of one server; their queries may lie in shared memory meanwhile."""

    def __init__(self, params: MeasureParams, kinds: Sequence[AskedModel]) -> None:
        self._params, self._kinds = params, kinds
        self._python_because = python_because(params)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> GrpcTarget:
        async with self._stack:
            client = GrpcClient(self._params.url, "", tls=self._params.transport.tls)
            self._client = await self._stack.enter_async_context(client)
            messages = [await self._messages(kind) for kind in self._kinds]
            self._requests = CountedRequests(self._kinds, [len(own) for own in messages])
            self._messages_of_all = [message for own in messages for message in own]
            self._timeouts_ns = [
                kind.timeout_ns
                for kind, own in zip(self._kinds, messages, strict=True)
                for _ in own
            ]
            self._stack = self._stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def run(
        self, loop: ClosedLoopParams | OpenLoopParams, plan: QueryPlan, watcher: LoadWatcher
    ) -> Measurement:
        """Run a load by the client that can."""
        if self._python_because is not None:
            return await self._run_in_python(loop, plan, watcher)
        transport = self._params.transport
        native = self._native()
        return await run_natively(self._requests, native, transport, loop, plan, watcher)

    def feed(self, keeps: bool = False) -> NativeFeed:
        """By the native client alone.

        Raises
        ------
        TargetError
            Where that cannot be used.
        """
        if self._python_because is not None:
            raise TargetError(f"this needs the native client: {self._python_because}")
        return feed_natively(self._native(), self._params.transport, grpc_answer, keeps)

    async def _messages(self, kind: AskedModel) -> list[bytes]:
        """Of a kind of queries: one, or as many as there are pictures or regions."""
        metadata = await self._client.inputs_of(kind.name, kind.version)
        queries = make_queries(kind.inputs, metadata)
        if not self._params.transport.shares_memory:
            return [infer_request(kind.name, kind.version, q, kind.parameters) for q in queries]
        return [message for query in queries for message in self._shared(kind, query)]

    def _shared(self, kind: AskedModel, query: Sequence[RawTensor]) -> list[bytes]:
        address = parse_address(self._params.url)
        asked = (kind.name, kind.version, query, self._regions, kind.parameters)
        return self._stack.enter_context(SharedQueries(address, *asked))

    @property
    def _regions(self) -> int:
        """For outputs: one for each query that is in flight, up to a bound."""
        loop = self._params.loop
        users = loop.max_outstanding if isinstance(loop, OpenLoopParams) else loop.users
        return min(users, _MOST_REGIONS)

    def _native(self) -> NativeTarget:
        address = parse_address(self._params.url)
        first_ns = self._timeouts_ns[0]
        return NativeTarget(
            address,
            [framed(message) for message in self._messages_of_all],
            call_headers(str(address), first_ns),
            first_ns,
            self._timeouts_ns,
        )

    async def _run_in_python(
        self, loop: ClosedLoopParams | OpenLoopParams, plan: QueryPlan, watcher: LoadWatcher
    ) -> Measurement:
        turns = plan.turns(self._requests.counts)
        seconds = [timeout_ns / NS_PER_S for timeout_ns in self._timeouts_ns]
        asked = list(zip(self._messages_of_all, seconds, strict=True))
        self._client.take_turns(asked, turns.tolist())
        recorder, clock = Recorder(turns=turns.tolist()), MonotonicClock()
        began_ns, computed_ns = time.monotonic_ns(), time.thread_time_ns()
        async with show_progress(loop.load, recorder, clock, watcher):
            if isinstance(loop, ClosedLoopParams):
                await run_closed_loop(self._client, loop, recorder, clock)
            else:
                offsets_ns = iter(plan.offsets_ns.tolist())
                await run_open_loop(self._client, offsets_ns, loop, recorder, clock)
        took_ns = max(1, time.monotonic_ns() - began_ns)
        share = min(1.0, (time.thread_time_ns() - computed_ns) / took_ns)
        generator = Generator("python", 1, 1, share, share, instead=self._instead)
        return self._requests.measurement(
            recorder.records(), isinstance(loop, OpenLoopParams), generator
        )

    @property
    def _instead(self) -> str:
        """Why it is not the native client, if nobody asked for another one."""
        transport = self._params.transport
        is_meant = transport.client == "python" or transport.tls is not None
        return "" if is_meant else self._python_because or ""


TARGETS["grpc"] = GrpcTarget
