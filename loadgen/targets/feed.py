"""Queries that somebody else decides upon, one by one: MLPerf's LoadGen."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Protocol

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.errors import ClientError
from surplus.loadgen.native_load import NativeLoad
from surplus.loadgen.record import Records

Ended = tuple[int, bool]
"""A query's number, as they were asked for, and whether it succeeded."""


class Loss(NamedTuple):
    """Why a run was over before its time, and what was measured until then."""

    reason: str
    records: Records


class Feeding(Protocol):
    """Sends queries at once, each when it is asked for; a context manager.

    ``ask`` is for one thread, ``take`` and ``answer`` are for another.
    """

    requests: int
    """How many different queries there are."""

    @property
    def loss(self) -> Loss | None:
        """Once ``take`` says that the run is over: whether that is so for want of a server."""
        ...

    def __enter__(self) -> Feeding: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def ask(self, request: int) -> None:
        """Send a query of that request, 0 <= request < requests; the k-th call is query k."""
        ...

    def take(self) -> Sequence[Ended]:
        """Wait for queries to end; empty once the run is over."""
        ...

    def answer(self, request: int) -> Answer:
        """The first one to that request, of which ``take`` has told success, if they are kept.

        Raises
        ------
        ClientError
            If it cannot be read.
        """
        ...

    def finish(self) -> None:
        """Nothing more will be asked."""
        ...


class NativeFeed:
    """By the native client, in a thread of its own.

    Parameters
    ----------
    load : NativeLoad
    requests : int
        How many it has.
    read : callable
        Makes arrays of an answer's bytes.
    """

    def __init__(self, load: NativeLoad, requests: int, read: Callable[[bytes], Answer]) -> None:
        self.requests = requests
        self._load, self._read = load, read
        self._pool = ThreadPoolExecutor(1, "loadgen-fed")

    def __enter__(self) -> NativeFeed:
        self._running = self._pool.submit(self._load.native.run_fed, time.monotonic_ns())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()
        if kind is not None:
            self._load.stop()
        self._pool.shutdown()

    def ask(self, request: int) -> None:
        """Hand it to the client's thread."""
        self._load.native.ask(request)

    def take(self) -> Sequence[Ended]:
        """Wait, without the interpreter's lock."""
        return self._load.native.take()

    @property
    def loss(self) -> Loss | None:
        """As the client had it."""
        if not (said := self._load.native.loss):
            return None
        reason = f"the server at {self._load.address} went away: {said}"
        return Loss(reason, self._load.fed_records())

    def answer(self, request: int) -> Answer:
        """Read what the client kept."""
        data = self._load.native.first_answer(request)
        assert data is not None, "asked for before it was there, or not kept"
        return self._read(data)

    def finish(self) -> None:
        """The client ends with the last answer."""
        self._load.native.finish()


class ThreadedFeed:
    """By a pool of threads that call a function of the request's number."""

    loss = None

    def __init__(
        self, call: Callable[[int], Answer], requests: int, threads: int, keeps: bool = False
    ) -> None:
        self.requests = requests
        self._call = call
        self._kept: dict[int, Answer] | None = {} if keeps else None
        self._pool = ThreadPoolExecutor(threads, "loadgen-fed")
        self._ended: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self._asked = 0

    def __enter__(self) -> ThreadedFeed:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=kind is not None)
        self._ended.put(None)

    def ask(self, request: int) -> None:
        """Hand it to a thread that is free, or will be."""
        self._pool.submit(self._answer, self._asked, request)
        self._asked += 1

    def take(self) -> Sequence[Ended]:
        """Wait for one."""
        ended = self._ended.get()
        return () if ended is None else (ended,)

    def answer(self, request: int) -> Answer:
        """What was kept."""
        assert self._kept is not None, "not kept"
        return self._kept[request]

    def finish(self) -> None:
        """The end comes behind the last answer."""
        self._pool.shutdown()
        self._ended.put(None)

    def _answer(self, query: int, request: int) -> None:
        try:
            answer = self._call(request)
            if self._kept is not None:
                self._kept.setdefault(request, answer)
        except ClientError:
            self._ended.put((query, False))
        else:
            self._ended.put((query, True))
