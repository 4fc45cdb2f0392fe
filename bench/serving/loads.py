"""The loads that every server gets, and one turn of it by the native client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.infrastructure.process_tree import tree_cpu_s
from bench.serving.payloads import Payload
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.rest_request import rest_request
from surplus.loadgen.clients.shared_queries import SharedQueries
from surplus.loadgen.clients.tensors import RawTensor, from_array
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad, NativeParams, NativeTarget
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.stats import LoadSummary, summarise

RestRequest = Callable[[HostPort, str, str, Sequence[RawTensor]], bytes]
"""As ``rest_request``: what is sent over HTTP for one query."""

TIMEOUT_NS = 30 * NS_PER_S
_WARM_UP_SHARE = 0.2
"""Of a turn: what the one before it cooled warms up."""


@dataclass(frozen=True)
class Asking:
    """A closed loop of one model: a row of the table.

    Parameters
    ----------
    payload : str
        By name.
    protocol : str
        "grpc" or "http".
    clients : int
        Of one connection and one query each.
    shares_memory : bool
        Whether tensors lie in system shared memory.
    """

    payload: str
    protocol: str
    clients: int
    shares_memory: bool = False

    @property
    def path(self) -> str:
        """How queries travel, for people."""
        return self.protocol + ", shared memory" * self.shares_memory


LOADS = (
    Asking("floats_16", "grpc", 1),
    Asking("floats_16", "grpc", 16),
    Asking("kilobytes_600", "grpc", 1),
    Asking("kilobytes_600", "grpc", 16),
    Asking("kilobytes_600", "grpc", 1, shares_memory=True),
    Asking("kilobytes_600", "grpc", 16, shares_memory=True),
    Asking("squeezenet", "grpc", 1),
    Asking("squeezenet", "grpc", 16),
    Asking("floats_16", "http", 1),
    Asking("floats_16", "http", 16),
)


@dataclass(frozen=True)
class Turn:
    """What one turn came to.

    Parameters
    ----------
    per_s : float
        Queries that succeeded.
    p50_ns, p99_ns : int
        Latency of these; 0 if there were none.
    cpu_ns : float
        Of the server's processes, a query.
    client_busy : float
        In [0, 1]: how much of the time the client had something to do.
    errors : mapping of str to int
        Failed queries by kind.
    said : tuple of str
        What the client warned of, and what the server said of errors.
    """

    per_s: float
    p50_ns: int
    p99_ns: int
    cpu_ns: float
    client_busy: float
    errors: Mapping[str, int]
    said: tuple[str, ...] = ()


@contextmanager
def target_of(
    address: HostPort, load: Asking, payload: Payload, rest: RestRequest = rest_request
) -> Iterator[NativeTarget]:
    """Queries of a payload, as bytes; a region of shared memory each client, where they lie there.

    Raises
    ------
    TargetError
        If the server takes no regions, and the load asks for it.
    """
    tensors = [from_array(name, array) for name, array in payload.inputs.items()]
    asked = (payload.name, "", tensors)
    if load.protocol == "http":
        yield NativeTarget(address, [rest(address, *asked)], timeout_ns=TIMEOUT_NS)
        return
    headers = call_headers(str(address), TIMEOUT_NS)
    if not load.shares_memory:
        yield NativeTarget(address, [framed(infer_request(*asked))], headers, TIMEOUT_NS)
        return
    with SharedQueries(address, *asked, load.clients) as requests:
        yield NativeTarget(address, [framed(one) for one in requests], headers, TIMEOUT_NS)


def turn(pid: int, target: NativeTarget, clients: int, seconds: float) -> Turn:
    """Ask a server for so long, the warm-up not counted; and what it computed meanwhile."""
    load = LoadgenParams(
        min_duration_ns=round(seconds * NS_PER_S),
        warmup_ns=round(seconds * NS_PER_S * _WARM_UP_SHARE),
    )
    native = NativeLoad(target, ClosedLoopParams(load, clients), NativeParams(compares=True))
    used_s = tree_cpu_s(pid)
    records = native.run()
    cpu_ns = (tree_cpu_s(pid) - used_s) * NS_PER_S / max(1, len(records))
    return turn_of(summarise(records, False, native.generator), cpu_ns)


def turn_of(summary: LoadSummary, cpu_ns: float) -> Turn:
    """A summary, and what the server computed for each query."""
    latency, generator = summary.latency, summary.generator
    return Turn(
        summary.throughput_per_s,
        latency.p50_ns if latency else 0,
        latency.p99_ns if latency else 0,
        cpu_ns,
        generator.busy_share if generator else 0.0,
        summary.errors,
        summary.warnings,
    )
