"""The load generator's native client."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

def open_http2() -> str:
    """Opens libnghttp2, which gRPC needs; returns its version. RuntimeError if there is none."""

class Load:
    """One run against one server, in one thread."""

    def __init__(
        self,
        host: str,
        port: int,
        is_grpc: bool,
        requests: Sequence[tuple[bytes, int, Sequence[tuple[str, str]]]],
        turns: Sequence[int],
        connections: int,
        connect_ns: int,
        patience_ns: int,
        is_compared: bool,
        is_kept: bool,
    ) -> None:
        """
        Connect; RuntimeError says why not.

        A request has its bytes, its timeout in nanoseconds and its headers: over gRPC a message
        with its prefix; else all that is sent over HTTP/1.1, without headers. Queries send the
        requests that `turns` names, over and over, or take turns if it is empty. The first answer
        to each is kept where `is_kept`.
        """

    def run_closed(
        self, start_ns: int, callers: int, warmup_ns: int, min_duration_ns: int, min_count: int
    ) -> None:
        """Keep so many queries in flight; times count from `start_ns`, of time.monotonic_ns."""

    def run_open(
        self,
        start_ns: int,
        offsets_ns: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        warmup_ns: int,
        max_outstanding: int,
    ) -> None:
        """Send queries at these ascending times from `start_ns` on."""

    def run_fed(self, start_ns: int) -> None:
        """Send what `ask` is told to, until `finish` and the last answer."""

    def ask(self, request: int) -> None:
        """Send a query of that request at once; they are numbered from 0."""

    def take(self) -> list[tuple[int, bool]]:
        """
        Wait for queries of a fed run to end: their numbers, and whether they succeeded.

        Empty: the run is over.
        """

    def finish(self) -> None:
        """Nothing more will be asked."""

    def first_answer(self, request: int) -> bytes | None:
        """
        The first answer to that request, of which `take` has told success, if they are kept:

        over gRPC a message with its prefix, else a body.
        """

    def stop(self) -> None:
        """End the run, from any thread."""

    @property
    def finished(self) -> int:
        """How many queries have ended so far."""

    @property
    def intended_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None,)}]: ...
    @property
    def sent_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None,)}]: ...
    @property
    def done_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None,)}]: ...
    @property
    def kind(self) -> Annotated[NDArray[numpy.int16], {"shape": (None,)}]:
        """0 for success, else 1 + the place of its kind, -1 for what was not finished."""

    @property
    def kinds(self) -> list[str]: ...
    @property
    def messages(self) -> list[str]:
        """What was said of the first query of each kind."""

    @property
    def wall_ns(self) -> int: ...
    @property
    def slept_ns(self) -> int: ...
    @property
    def cpu_ns(self) -> int: ...
    @property
    def gave_up(self) -> bool:
        """Whether there was no server any more."""

    @property
    def loss(self) -> str:
        """Why there was none; empty where there was."""
