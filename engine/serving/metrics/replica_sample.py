"""A server that answers queries for this one, as metrics see it."""

from __future__ import annotations

from typing import NamedTuple


class ReplicaSample(NamedTuple):
    """Counts since the start, in the order of ``_core.Replicas.counts``.

    Parameters
    ----------
    name : str
        Its address.
    failed : int
        Queries that it did not answer; those that another server was asked then among them.
    retried : int
        That were sent there after another one had failed.
    ejections : int
        How often it was ejected.
    """

    name: str
    sent: int
    answered: int
    failed: int
    retried: int
    ejections: int
    in_flight: int
    is_ejected: bool
