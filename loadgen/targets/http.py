"""A server over HTTP/1.1 with binary tensors, by the native client alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from surplus.loadgen.address import parse_address
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.clients.answers import rest_answer
from surplus.loadgen.clients.inputs import make_queries
from surplus.loadgen.clients.rest_request import rest_inputs, rest_request
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.native_load import NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.progress import LoadWatcher
from surplus.loadgen.query_plan import QueryPlan
from surplus.loadgen.targets.counted_requests import CountedRequests
from surplus.loadgen.targets.feed import NativeFeed
from surplus.loadgen.targets.native_run import feed_natively, run_natively
from surplus.loadgen.targets.target import TARGETS
from surplus.loadgen.which_client import python_because

_CONNECT_S = 10.0


class HttpTarget:
    """Models of one server."""

    def __init__(self, params: MeasureParams, kinds: Sequence[AskedModel]) -> None:
        self._params, self._kinds = params, kinds
        python_because(params)  # raises where there is no native client
        self._address = parse_address(params.url)

    async def __aenter__(self) -> HttpTarget:
        requests = [self._requests_of(kind) for kind in self._kinds]
        self._requests = CountedRequests(self._kinds, [len(own) for own in requests])
        pairs = zip(self._kinds, requests, strict=True)
        timeouts_ns = [kind.timeout_ns for kind, own in pairs for _ in own]
        flat = [request for own in requests for request in own]
        self._native = NativeTarget(self._address, flat, timeouts_ns=timeouts_ns)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held between runs."""

    async def run(
        self, loop: ClosedLoopParams | OpenLoopParams, plan: QueryPlan, watcher: LoadWatcher
    ) -> Measurement:
        """Run a load."""
        transport = self._params.transport
        return await run_natively(self._requests, self._native, transport, loop, plan, watcher)

    def feed(self, keeps: bool = False) -> NativeFeed:
        """Queries one by one."""
        return feed_natively(self._native, self._params.transport, rest_answer, keeps)

    def _requests_of(self, kind: AskedModel) -> list[bytes]:
        asked = (self._address, kind.name, kind.version)
        queries = make_queries(kind.inputs, rest_inputs(*asked, _CONNECT_S))
        told = dict(kind.parameters)
        if kind.timeout_s is not None:  # microseconds, as Triton has them
            told["timeout"] = max(1, kind.timeout_ns // 1000)
        return [rest_request(*asked, query, told) for query in queries]


TARGETS["http"] = HttpTarget
