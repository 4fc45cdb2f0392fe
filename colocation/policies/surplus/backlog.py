"""When a query that comes would end, and whether those that wait would still be in time behind it.

All that waits is taken by earliest deadline, on devices that are never idle: what runs has to end,
and what is due earlier has to go first, also of what is still to come (the demand criterion of
Baruah, Rosier and Howell, Real-Time Systems 2, 1990, for one machine as fast as all devices).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting, urgency


class Backlog(NamedTuple):
    """What is held, and what queries hold.

    Parameters
    ----------
    now_ns : int
    held : float
        Percent times ns that what runs, and what is to come before the query, will hold.
    percent : float
        Of all devices, that works off what waits; > 0.
    works : sequence of float
        Percent times ns of a query, by service.
    alone_ns : sequence of float
        Of a query, by service, between its start and its end.
    """

    now_ns: int
    held: float
    percent: float
    works: Sequence[float]
    alone_ns: Sequence[float]

    def end_ns(self, query: Query, waiting: Sequence[Waiting]) -> float:
        """When a query ends, which is one of those that wait."""
        key = urgency(query)
        work = self.held
        for queue in waiting:
            for other in queue:
                if urgency(other) >= key:
                    break
                work += self.works[other.service]
        return self.now_ns + work / self.percent + self.alone_ns[query.service]

    def harms(self, query: Query, waiting: Sequence[Waiting]) -> bool:
        """Whether somebody who is due later is in time only without it."""
        due = sorted((q.deadline_ns, q.id, q.service) for queue in waiting for q in queue)
        key = urgency(query)
        own_ns = self.works[query.service] / self.percent
        work = self.held
        for deadline_ns, number, service in due:
            if (deadline_ns, number) > key:
                end_ns = self.now_ns + work / self.percent + self.alone_ns[service]
                if 0 < end_ns - deadline_ns <= own_ns:
                    return True
            work += self.works[service]
        return False
