"""What a simulated router asks: where to send a query, and where again if that fails."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol


class SendFailure(IntEnum):
    """Why a query was not answered."""

    LOST = 0
    """The server could not be reached, or the connection ended."""
    REFUSED = 1
    """It would have been late, there is no room for it, or it failed."""
    LATE = 2
    """Nothing was heard until it was due."""


class Sending(NamedTuple):
    """A query that is on its way."""

    ticket: int
    server: int


class QueryBalancer(Protocol):
    """Chooses servers; reads no clock, draws no numbers. Servers and models are numbers."""

    def set_replicas(self, model: int, servers: Sequence[int]) -> None:
        """Say who has a model from now on; what is known of those that stay is kept."""
        ...

    def send(self, model: int, now_ns: int, due_ns: int) -> Sending | None:
        """Begin a query; None where no server has the model."""
        ...

    def answered(self, ticket: int, now_ns: int, wait_ns: int | None) -> None:
        """Note an answer, and how long a new query would wait there, if the server says so."""
        ...

    def failed(self, ticket: int, now_ns: int, failure: SendFailure) -> Sending | None:
        """Note a failure; where it is begun again, None if it is not: it is tried twice at most."""
        ...
