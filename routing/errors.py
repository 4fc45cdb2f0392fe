"""Every error that clients of several servers raise on purpose.

::

    RoutingError
    ├── NoReplicaError   nobody is known that has the model
    ├── ResolverError    who has the model could not be found out
    └── QueryError       one query failed; its kind is gRPC's name of the status
"""


class RoutingError(Exception):
    """Base of every error that a caller may want to catch."""


class NoReplicaError(RoutingError):
    """Nobody is known that has the model."""


class ResolverError(RoutingError):
    """Who has the model could not be found out."""


class QueryError(RoutingError):
    """One query failed, on every replica that was asked.

    Parameters
    ----------
    kind : str
        gRPC's name of the status, for example ``RESOURCE_EXHAUSTED``.
    message : str
        What the server, or gRPC, says of it.
    server : str
        Who was asked last.
    """

    def __init__(self, kind: str, message: str, server: str) -> None:
        super().__init__(f"{kind} from {server}: {message}")
        self.kind = kind
        self.message = message
        self.server = server


def not_resolved() -> QueryError:
    """Of a query that was due before anybody knew whom to ask."""
    said = "it did not say in time who has the model"
    return QueryError("DEADLINE_EXCEEDED", said, "the resolver")
