"""A stated rule of fairness: queries of a service are worth more until it has its guaranteed share.

The guarantee is a constraint of the linear program that prices come from (``prices.py``); what it
multiplies values by are the constraint's multipliers, found by multiplicative weights: each query
that was not answered in time makes the next ones of its service worth more, each that was makes
them worth less. Batches, prices and order are then what they are for such values: nothing has to
go first that would hold much for little. Where nobody can have the guarantee the least are nearly
alike.

References
----------
Arora, Hazan, Kale: The multiplicative weights update method, Theory of Computing 8, 2012, sec. 3.3.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from math import exp

_STEP = 0.03
"""Of a weight's logarithm, for a whole query; some tens of queries change an order."""
_FADES = 0.0015
"""Part of a logarithm that a query takes away: where the guarantee is out of reach it stays at
``_STEP / _FADES`` times what the service lacks."""
_SEEN = 200
"""Queries of a service after which those of all are halved."""
_MOST = 8.0
"""A query counts for so many others, at most, or at least for one in so many."""


class FairShare:
    """Multiplies what queries are worth.

    Parameters
    ----------
    values : mutable sequence of float
        Of a query, by service; changed here.
    guarantee : float
        Share of its queries that each service is to be answered in time; 0 for no rule.
    """

    def __init__(self, values: MutableSequence[float], guarantee: float) -> None:
        self._values = values
        self._own = tuple(values)
        self._guarantee = guarantee
        self._logs = [0.0] * len(values)
        self._seen = [0.0] * len(values)

    def departed(self, service: int, in_time: int, others: int) -> bool:
        """Count queries that were answered in time and others; return whether one's worth moved."""
        queries = in_time + others
        if not self._guarantee or not queries:
            return False
        counts = self._counts(service, queries)
        before = self._logs[service]
        lacks = self._guarantee * queries - in_time
        after = max(0.0, before + counts * (_STEP * lacks - _FADES * queries * before))
        self._logs[service] = after
        self._values[service] = self._own[service] * exp(after)
        return after != before

    def _counts(self, service: int, queries: int) -> float:
        """For how many of the others one counts: a rare service is to be heard as soon as they."""
        seen = self._seen
        seen[service] += queries
        if seen[service] > _SEEN:
            seen[:] = [own / 2 for own in seen]
        mean = sum(seen) / len(seen)
        return min(_MOST, max(1 / _MOST, mean / seen[service]))
