"""Which replica answers a query: least expected lateness, ejection, one retry."""

import enum
from collections.abc import Sequence

class Failure(enum.Enum):
    """Why a query was not answered."""

    LOST = 0
    """the server could not be reached, or the connection ended"""

    UNAVAILABLE = 1
    """it says that it answers none, or not this one"""

    REFUSED = 2
    """it would have been late, or there is no room for it"""

    ABSENT = 3
    """the server has not the model"""

    LATE = 4
    """nothing was heard until it was due"""

    ERROR = 5
    """the model failed there"""

    FAULT = 6
    """the query's own: another replica would say the same"""

def failure_of(grpc_status: int) -> Failure:
    """What a status that is not OK says of a server; not whether a connection was lost."""

class ServerCounts:
    """What became of the queries sent to a server."""

    @property
    def name(self) -> str: ...
    @property
    def sent(self) -> int: ...
    @property
    def answered(self) -> int: ...
    @property
    def failed(self) -> int:
        """Those that another replica was asked then, too."""

    @property
    def retried(self) -> int:
        """Sent here after another replica had failed."""

    @property
    def ejections(self) -> int:
        """How often it was ejected."""

    @property
    def in_flight(self) -> int: ...
    @property
    def is_ejected(self) -> bool: ...

class Balancer:
    """
    Sends queries where they are expected to be the least late.

    Reads no clock and opens no connection: its caller says what time it is and what happened. One
    thread at a time. Models and servers are numbers from 0 on; moments and durations are ns.
    """

    def __init__(
        self,
        most_failures: int = 3,
        eject_ns: int = 1000000000,
        most_eject_ns: int = 30000000000,
        fade_ns: int = 2000000000,
        refused_ns: int = 50000000,
    ) -> None:
        """
        Parameters
        ----------
        most_failures
            In a row after which a server is ejected, >= 1; one that is lost is at once.
        eject_ns, most_eject_ns
            How long the first time; twice as long each time in a row, up to the second.
        fade_ns
            In which an estimate halves that nothing confirms.
        refused_ns
            How long a server is taken to be busy that refuses a query which is never due.

        Raises ValueError naming the bound that does not hold.
        """

    def server(self, name: str) -> int:
        """Its number, new or known."""

    def model(self, name: str) -> int:
        """Its number, new or known."""

    def set_replicas(self, model: int, replicas: Sequence[tuple[int, float]]) -> None:
        """
        Who has a model from now on: servers, and how many queries of others are known there.

        What is known of those that stay is kept.
        """

    def send(
        self, model: int, now_ns: int, due_ns: int = 0, sequence: int = 0
    ) -> tuple[int, int] | None:
        """
        Begin a query, due at that moment (0: never): its ticket, and the server to ask.

        None where the model has no replica. Queries of one `sequence` (0: none) go to one replica,
        and no other is tried.
        """

    def answered(self, ticket: int, now_ns: int, wait_ns: int | None = None) -> None:
        """It was; `wait_ns` is what the server says a new query would wait there."""

    def failed(self, ticket: int, now_ns: int, failure: Failure) -> tuple[int, int] | None:
        """
        It was not: the ticket of another try, and the server to ask.

        None where the caller is to hear of the failure.
        """

    def abandoned(self, ticket: int) -> None:
        """Nobody waits for it any more."""

    def lost(self, server: int, now_ns: int) -> None:
        """It can be reached no more."""

    def restored(self, server: int) -> None:
        """It can be reached again."""

    def expected_end_ns(self, model: int, server: int, now_ns: int) -> int | None:
        """When a query that is sent now is expected to be answered; None where nobody knows."""

    def counts(self, now_ns: int) -> list[ServerCounts]:
        """Of every server, by number."""
