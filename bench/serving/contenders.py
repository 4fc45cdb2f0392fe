"""Who is compared: how each is started, and why it may be left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from bench.neighbours.triton.environment import missing as triton_missing
from bench.serving.grpc_aio import start_grpc_aio
from bench.serving.in_process import InProcess
from bench.serving.loads import Asking, Turn
from bench.serving.payloads import Payload
from bench.serving.peer_servers import (
    peer_missing,
    start_kserve,
    start_litserve,
    start_mlserver,
)
from bench.serving.surplus_server import start_surplus
from bench.serving.triton_server import start_triton


class Started(Protocol):
    """A contender that runs.

    Attributes
    ----------
    at_rest_bytes : int
        Of memory that its processes have before any load.
    """

    at_rest_bytes: int

    def takes(self, load: Asking) -> bool:
        """Whether it can be asked so."""
        ...

    def turn(self, load: Asking, seconds: float) -> Turn:
        """Ask it for so long."""
        ...

    def end(self) -> None:
        """End it, and what it started."""
        ...


class Contender(NamedTuple):
    """How one is started, in a folder of its own; why it cannot be here, if it cannot."""

    start: Callable[[Path, Mapping[str, Payload]], Started]
    missing: Callable[[], str | None] = lambda: None


CONTENDERS: Mapping[str, Contender] = {
    "surplus": Contender(start_surplus),
    "triton 2.51": Contender(start_triton, triton_missing),
    "grpc.aio": Contender(start_grpc_aio),
    "kserve": Contender(start_kserve, peer_missing("kserve")),
    "mlserver": Contender(start_mlserver, peer_missing("mlserver")),
    "litserve (JSON)": Contender(start_litserve, peer_missing("litserve")),
    "in process": Contender(InProcess),
}


def left_out() -> dict[str, str]:
    """Contenders that cannot run here, and why."""
    reasons = {name: contender.missing() for name, contender in CONTENDERS.items()}
    return {name: reason for name, reason in reasons.items() if reason}
