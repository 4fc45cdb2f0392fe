"""Queries, and the ways in which they end."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Query(NamedTuple):
    """One request to a service. A named tuple, because a run makes millions of them.

    Parameters
    ----------
    id : int
        Its place among all queries of the run, in order of arrival.
    service : int
        Index of the service.
    number : int
        Its place among the queries of its service; random draws are keyed by it.
    arrival_ns, deadline_ns : int
        When it came, and when its answer is due.
    items : int
        Inputs that it brings, which are always computed together; the batch of a query alone.
    sequence : int
        Length of the inputs; 0 where the model has none.
    priority : int
        Larger is more urgent; FCFS, SJF and EDF look at it, no other policy does.
    """

    id: int
    service: int
    number: int
    arrival_ns: int
    deadline_ns: int
    items: int = 1
    sequence: int = 0
    priority: int = 0


class Outcome(IntEnum):
    """What became of a query; every query has exactly one at any time."""

    UNFINISHED = 0
    """Still queued or running when the run ended; not yet arrived in a run cut short."""
    IN_TIME = 1
    LATE = 2
    DROPPED = 3
    """Given up by the policy, which predicted that it would miss its deadline."""
    REJECTED = 4
    """Turned away at its arrival: the service's queue was full, or nobody serves it."""
    FAILED = 5
    """Its group failed while it ran."""
