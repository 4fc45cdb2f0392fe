"""One run by the native client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.grpc_request import with_timeout
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.generator import Generator
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.query_plan import planned
from surplus.loadgen.record import Records, merge

if TYPE_CHECKING:  # where it was not built there is the Python client
    from surplus.loadgen._native import Load

PATIENCE_NS = 5_000_000_000
"""Without a server for so long, a run ends."""

CONNECT_NS = 10_000_000_000
"""How long the first connections may take."""

_OPEN_CONNECTIONS = 16


@dataclass(frozen=True)
class NativeTarget:
    """Whom the native client asks what.

    Parameters
    ----------
    address : HostPort
        Of the server.
    requests : sequence of bytes
        Queries take turns through them: over gRPC a message with its prefix each, else all that is
        sent over HTTP/1.1.
    headers : sequence of (str, str)
        Of every gRPC call; empty for HTTP/1.1, which is then spoken.
    timeout_ns : int
        Of each query, from when it is sent, > 0; past it, it fails as ``DEADLINE_EXCEEDED``.
    timeouts_ns : sequence of int
        Of the queries of each request, where they differ.
    """

    address: HostPort
    requests: Sequence[bytes]
    headers: Sequence[tuple[str, str]] = ()
    timeout_ns: int = 60_000_000_000
    timeouts_ns: Sequence[int] = ()

    def prepared(self) -> list[tuple[bytes, int, list[tuple[str, str]]]]:
        """The requests with what belongs to each, as the native client has them."""
        timeouts_ns = self.timeouts_ns or [self.timeout_ns] * len(self.requests)
        return [
            (request, timeout_ns, with_timeout(self.headers, timeout_ns))
            for request, timeout_ns in zip(self.requests, timeouts_ns, strict=True)
        ]


@dataclass(frozen=True)
class NativeParams:
    """How it asks, as ``TransportParams`` has it."""

    connections: int = 0
    threads: int = 1
    compares: bool = False
    keeps: bool = False
    """The first answer to each request, for who feeds it."""
    patience_ns: int | None = None
    """Without a server for so long, a run ends; None: the usual."""


class NativeLoad:
    """A load of the native client, which runs once.

    Parameters
    ----------
    target : NativeTarget
    loop : ClosedLoopParams or OpenLoopParams
        For how long; an open loop needs ``offsets_ns``.
    params : NativeParams, optional
    offsets_ns : iterable of int
        Intended send times of an open loop (see ``surplus.loadgen.arrivals``), as many as it takes.
    turns : sequence of int
        Which request each query sends, over and over; empty: they take turns.

    Raises
    ------
    TargetError
        If the server cannot be reached within ten seconds, or does not take all connections.
    """

    def __init__(
        self,
        target: NativeTarget,
        loop: ClosedLoopParams | OpenLoopParams,
        params: NativeParams | None = None,
        offsets_ns: Iterable[int] | NDArray[np.int64] = (),
        turns: Sequence[int] | NDArray[np.uint32] = (),
    ) -> None:
        params = params or NativeParams()
        is_open = isinstance(loop, OpenLoopParams)
        users = loop.max_outstanding if isinstance(loop, OpenLoopParams) else loop.users
        self._connections = params.connections or (_OPEN_CONNECTIONS if is_open else users)
        self._threads = min(params.threads, users, self._connections)
        self._loop = loop
        self.address = target.address
        self._users = _shares(users, self._threads)
        self._offsets_ns = _planned(offsets_ns, loop.load) if is_open else np.zeros(0, np.int64)
        self._turns = self._own_turns(turns, len(target.requests))
        self._loads = [
            _made(target, connections, params, own)
            for connections, own in zip(
                _shares(self._connections, self._threads), self._turns, strict=True
            )
        ]

    @property
    def count(self) -> int:
        """Queries that have ended so far; from any thread."""
        return sum(load.finished for load in self._loads)

    @property
    def measured_count(self) -> int:
        """The same, the warm-up's included: for a progress bar."""
        return self.count

    def stop(self) -> None:
        """End the run, from any thread; queries in flight are left out."""
        for load in self._loads:
            load.stop()

    def run(self) -> Records:
        """Run it in threads of its own, and return when the last answer is there."""
        start_ns = time.monotonic_ns()
        with ThreadPoolExecutor(self._threads, "loadgen-native") as pool:
            futures = [pool.submit(self._run, place, start_ns) for place in range(self._threads)]
            try:
                return merge([future.result() for future in futures])
            except BaseException:
                self.stop()
                raise

    @property
    def native(self) -> Load:
        """The first of its threads' clients, for who feeds it query by query."""
        return self._loads[0]

    def fed_records(self) -> Records:
        """What became of the queries of who fed it, once that is over."""
        return _records(self.native, 0, self._turns[0])

    @property
    def generator(self) -> Generator:
        """How busy the client was; of the busiest of its threads."""
        busy, cpu = max((_shares_of(load) for load in self._loads if load.wall_ns), default=(0, 0))
        gave_up = any(load.gave_up for load in self._loads)
        return Generator("native", self._threads, self._connections, busy, cpu, gave_up)

    def _run(self, place: int, start_ns: int) -> Records:
        native, load = self._loads[place], self._loop.load
        users, warmup_ns = self._users[place], load.warmup_ns
        if isinstance(self._loop, OpenLoopParams):
            own = np.ascontiguousarray(self._offsets_ns[place :: self._threads])
            native.run_open(start_ns, own, warmup_ns, users)
        else:
            least = _shares(load.min_count, self._threads)[place]
            native.run_closed(start_ns, users, warmup_ns, load.min_duration_ns, least)
        return _records(native, start_ns + warmup_ns, self._turns[place])

    def _own_turns(
        self, turns: Sequence[int] | NDArray[np.uint32], requests: int
    ) -> list[NDArray[np.uint32]]:
        """Of each thread: an open loop's queries are dealt out to them."""
        all_turns = np.asarray(turns, np.uint32)
        if not len(all_turns):
            all_turns = np.arange(requests, dtype=np.uint32)
        if not len(self._offsets_ns) or self._threads == 1:
            return [all_turns] * self._threads
        every = np.resize(all_turns, len(self._offsets_ns))
        return [every[place :: self._threads] for place in range(self._threads)]


def _planned(
    offsets_ns: Iterable[int] | NDArray[np.int64], load: LoadgenParams
) -> NDArray[np.int64]:
    return offsets_ns if isinstance(offsets_ns, np.ndarray) else planned(offsets_ns, load)


def _shares(total: int, parts: int) -> list[int]:
    """As even as whole numbers can be."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def _shares_of(load: Load) -> tuple[float, float]:
    """Of the time, with something to do and computing; to fall asleep is to compute, too."""
    cpu = min(1.0, load.cpu_ns / load.wall_ns)
    return max(cpu, 1 - load.slept_ns / load.wall_ns), cpu


def _made(
    target: NativeTarget, connections: int, params: NativeParams, turns: NDArray[np.uint32]
) -> Load:
    from surplus.loadgen._native import Load

    host, port = target.address
    try:
        return Load(
            host=host,
            port=port,
            is_grpc=bool(target.headers),
            requests=target.prepared(),
            turns=turns.tolist(),
            connections=connections,
            connect_ns=CONNECT_NS,
            patience_ns=PATIENCE_NS if params.patience_ns is None else params.patience_ns,
            is_compared=params.compares,
            is_kept=params.keeps,
        )
    except RuntimeError as error:
        raise TargetError(f"cannot reach a server at {target.address}: {error}") from error


def _records(load: Load, measure_from_ns: int, turns: NDArray[np.uint32]) -> Records:
    done = np.flatnonzero(load.kind >= 0)
    return Records(
        load.intended_ns[done],
        load.sent_ns[done],
        load.done_ns[done],
        load.kind[done],
        tuple(load.kinds),
        measure_from_ns,
        tuple(unquote(message) for message in load.messages),
        turns[done % len(turns)].astype(np.int32),
    )
