"""A stated rule of fairness: who lacks most of its guaranteed share of answers comes first."""

from __future__ import annotations

_FADES_AFTER = 200
"""Queries of a service after which its counts are halved."""


class FairShare:
    """Counts offered and answered queries of late.

    Parameters
    ----------
    services : int
    guarantee : float
        Share of its queries that each service is to be answered in time; 0 for no rule.
    """

    def __init__(self, services: int, guarantee: float) -> None:
        self._guarantee = guarantee
        self._offered = [0.0] * services
        self._served = [0.0] * services

    def arrived(self, service: int) -> None:
        """Count a query."""
        self._offered[service] += 1
        if self._offered[service] > _FADES_AFTER:
            self._offered[service] /= 2
            self._served[service] /= 2

    def served(self, service: int, queries: int) -> None:
        """Count answers in time."""
        self._served[service] += queries

    def owed(self, service: int) -> float:
        """Share of its queries that a service lacks to its guarantee, at least 0."""
        offered = self._offered[service]
        if not offered or not self._guarantee:
            return 0.0
        return max(0.0, self._guarantee - self._served[service] / offered)
