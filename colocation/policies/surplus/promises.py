"""Certificates: a query is admitted only if it will be in time with a promised probability.

References
----------
Gibbs, Candes: Adaptive conformal inference under distribution shift, NeurIPS 2021. The score of a
query is the slack that it is predicted to have at its end, in targets; who has more than a
threshold is admitted. The threshold goes up when a promise is broken and down by less when one is
kept, so that over ``T`` admitted queries of a service the share of broken promises differs from the
allowed one by at most ``(range / step + 1) / T``, whatever times, loads and neighbours do.

Departures. Queries end long after they were admitted, and together: a broken promise that was made
before the threshold last went up does not move it once more, but is a debt; while there is one,
what is kept pays it off instead of moving the threshold down. More than a few are not owed, so that
bursts, which come when loads or devices change, are paid in part only, and the bound above is one
between bursts. And a service that a threshold shuts out would stay out, as there is nothing to
learn from: so a query that is refused by it counts as half a kept promise, and the threshold goes
at most a step above the slack that a query has on an idle machine. Where ``R`` queries are refused
for ``T`` that are admitted, up to ``1 + R / (2 T)`` times as many promises as allowed are broken.
"""

from __future__ import annotations

from collections.abc import Iterable

from surplus.colocation.frame.query import Query

_LEAST_SLACK = 0.0
"""While the load is light no promise is broken: without an end a threshold would fall so far that
too many are admitted when the load is not. Who is predicted to be late is promised nothing."""
_OF_REFUSED = 0.5
_MOST_OWED = 5.0
"""Of a burst: to pay off all of it would refuse thousands for what is over."""


def check_promise(probability: float) -> None:
    """Refuse what is no probability that could be promised.

    Raises
    ------
    ValueError
        If it is not between 0 and 1.
    """
    if not 0 < probability < 1:
        raise ValueError(f"promise must be between 0 and 1, got {probability}")


class Promises:
    """Thresholds, by service.

    Parameters
    ----------
    services : int
    probability : float
        Of being in time, that is promised; 0 < probability < 1.
    step : float
        What a broken promise adds to a threshold, in targets; > 0.

    Attributes
    ----------
    thresholds : list of float
        In targets.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(self, services: int, probability: float, step: float = 0.05) -> None:
        check_promise(probability)
        if not step > 0:
            raise ValueError(f"step must be > 0, got {step}")
        self._down = step * (1.0 - probability)
        self._up = step * probability
        self._paid = (1.0 - probability) / probability
        self._debts = [0.0] * services
        self._most = [1.0] * services
        self._rises = [0] * services
        self._made: dict[int, int] = {}
        self.thresholds = [_LEAST_SLACK] * services

    def admits(self, query: Query, slack: float, most: float) -> bool:
        """Promise, if it can be promised.

        Parameters
        ----------
        slack : float
            That the query is predicted to have, in targets.
        most : float
            That it would have on an idle machine.
        """
        service = query.service
        self._most[service] = most
        if slack >= self.thresholds[service]:
            self._made[query.id] = self._rises[service]
            return True
        self._kept(service, _OF_REFUSED)
        return False

    def ended(self, queries: Iterable[Query], when_ns: int) -> None:
        """Learn from queries that were answered, as far as they had a promise."""
        for query in queries:
            made = self._made.pop(query.id, None)
            if made is None:
                continue
            if when_ns > query.deadline_ns:
                self._broke(query.service, made)
            else:
                self._kept(query.service)

    def given_up(self, queries: Iterable[Query], when_ns: int) -> None:
        """Learn from promises that cannot be kept; who is told when it comes had none."""
        for query in queries:
            made = self._made.pop(query.id, None)
            if made is not None and when_ns > query.arrival_ns:
                self._broke(query.service, made)

    def failed(self, queries: Iterable[Query]) -> None:
        """Learn nothing from queries that were not late, but lost."""
        for query in queries:
            self._made.pop(query.id, None)

    def forget(self) -> None:
        """Begin again: devices or services are others now."""
        self._made.clear()
        self.thresholds = [_LEAST_SLACK] * len(self.thresholds)

    def _kept(self, service: int, count: float = 1.0) -> None:
        if self._debts[service] > 0:
            self._debts[service] -= count * self._paid
        else:
            least = self.thresholds[service] - count * self._down
            self.thresholds[service] = max(_LEAST_SLACK, least)

    def _broke(self, service: int, made: int) -> None:
        threshold = self.thresholds[service]
        if made < self._rises[service] or threshold > self._most[service]:
            self._debts[service] = min(_MOST_OWED, self._debts[service] + 1.0)
        else:
            self.thresholds[service] = threshold + self._up
            self._rises[service] += 1
