"""First come, first served, one whole query at a time.

References
----------
Baseline of Abacus (SC'21), section 7. The release serves in rounds, a head of each service at
once; this is the textbook's order over all services.
"""

from __future__ import annotations

from collections.abc import Iterable

from surplus.colocation.frame.dispatcher import DISPATCHERS
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.serial_order import SerialOrder


@DISPATCHERS.register("fcfs")
class Fcfs(SerialOrder):
    """The oldest query of all services is next."""

    def candidates(self, waiting: Waiting) -> Iterable[Query]:
        """As of ``SerialOrder``."""
        return (waiting.oldest,)

    def key(self, query: Query, took_ns: int) -> tuple[int, ...]:
        """As of ``SerialOrder``."""
        return (query.arrival_ns,)
