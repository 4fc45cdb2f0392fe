"""Shortest job first, one whole query at a time, without preemption.

References
----------
Baseline of Abacus (SC'21), section 7. The release looks at the heads of the queues; this looks
at every waiting query, or at the heads alone where a service's queries are all alike.
"""

from __future__ import annotations

from collections.abc import Iterable

from surplus.colocation.frame.dispatcher import DISPATCHERS
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.serial_order import SerialOrder


@DISPATCHERS.register("sjf")
class Sjf(SerialOrder):
    """The query with the shortest predicted time is next."""

    def candidates(self, waiting: Waiting) -> Iterable[Query]:
        """As of ``SerialOrder``."""
        return (waiting.oldest,) if waiting.alike else waiting

    def key(self, query: Query, took_ns: int) -> tuple[int, ...]:
        """As of ``SerialOrder``."""
        return (took_ns,)
