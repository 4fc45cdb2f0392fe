"""Earliest deadline first, one whole query at a time, without preemption.

References
----------
Liu, Layland: JACM 20(1), 1973; baseline of Abacus (SC'21), section 7. With one target for all
services it is FCFS.
"""

from __future__ import annotations

from collections.abc import Iterable

from surplus.colocation.frame.dispatcher import DISPATCHERS
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.serial_order import SerialOrder


@DISPATCHERS.register("edf")
class Edf(SerialOrder):
    """The most urgent query of all services is next."""

    def candidates(self, waiting: Waiting) -> Iterable[Query]:
        """As of ``SerialOrder``."""
        return (waiting.urgent,)

    def key(self, query: Query, took_ns: int) -> tuple[int, ...]:
        """As of ``SerialOrder``."""
        return (query.deadline_ns,)
