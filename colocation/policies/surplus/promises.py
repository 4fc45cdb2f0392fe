"""Certificates: a query is admitted only if it will be in time with a promised probability.

References
----------
Gibbs, Candes: Adaptive conformal inference under distribution shift, NeurIPS 2021. The score of a
query is the slack that it is predicted to have at its end, in targets; who has more than a
threshold is admitted. The threshold goes up when a promise is broken and down by less when one is
kept, so that over ``T`` admitted queries of a service the share of broken promises differs from the
allowed one by at most ``(range / step + 1) / T``, whatever times, loads and neighbours do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surplus.colocation.frame.query import Query

_MOST_SLACK = 1.0


class Promises:
    """Thresholds, by service.

    Parameters
    ----------
    slos_ns : sequence of int
        Targets, by service.
    probability : float
        Of being in time, that is promised; 0 < probability < 1.
    step : float
        What a broken promise adds to a threshold, in targets; > 0.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(self, slos_ns: Sequence[int], probability: float, step: float = 0.05) -> None:
        if not 0 < probability < 1 or not step > 0:
            text = f"got {probability} and {step}"
            raise ValueError(f"promise must be between 0 and 1, step > 0, {text}")
        self._slos_ns = slos_ns
        self._kept = -step * (1.0 - probability)
        self._broken = step * probability
        self._thresholds = [0.0] * len(slos_ns)

    def admits(self, query: Query, end_ns: float) -> bool:
        """Whether a query that is predicted to end then can be promised."""
        slack = (query.deadline_ns - end_ns) / self._slos_ns[query.service]
        return slack >= self._thresholds[query.service]

    def ended(self, queries: Iterable[Query], when_ns: int) -> None:
        """Learn from admitted queries that were answered, or given up."""
        thresholds = self._thresholds
        for query in queries:
            moved = self._kept if when_ns <= query.deadline_ns else self._broken
            place = query.service
            thresholds[place] = min(_MOST_SLACK, max(-_MOST_SLACK, thresholds[place] + moved))

    def given_up(self, queries: Iterable[Query]) -> None:
        """Learn from promises that cannot be kept."""
        for query in queries:
            self.ended((query,), query.deadline_ns + 1)
