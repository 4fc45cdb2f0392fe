"""What came of the queries of a simulated run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.neighbours.clairvoyant import AskedQuery


@dataclass(frozen=True)
class Answers:
    """When queries were answered, and what the cores had left.

    Parameters
    ----------
    queries : sequence of AskedQuery
    ends_ns : sequence of int
        Of each.
    background_ns : float
        Core nanoseconds that work without deadlines got while queries came.
    """

    queries: Sequence[AskedQuery]
    ends_ns: Sequence[int]
    background_ns: float

    def worst_misses(self) -> tuple[float, str]:
        """Share of the queries that the worst model missed, and which it is."""
        asked = Counter(query.model for query in self.queries)
        missed = Counter(
            query.model
            for query, end_ns in zip(self.queries, self.ends_ns, strict=True)
            if end_ns > query.due_ns
        )
        return max((missed[model] / count, model) for model, count in asked.items())

    def in_time_ns(self) -> int:
        """Work of the queries that were answered in time."""
        return sum(
            query.service_ns
            for query, end_ns in zip(self.queries, self.ends_ns, strict=True)
            if end_ns <= query.due_ns
        )
