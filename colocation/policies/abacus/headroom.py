"""Plans one group for one partition: who takes part, what time there is, who is given up.

References
----------
Abacus (SC'21), sections 6.2 and 6.3.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group
from surplus.colocation.policies.abacus.residence import Residence
from surplus.colocation.policies.abacus.search import GroupCandidate, GroupSearch


class HeadroomPlanner:
    """Plans for the most urgent query, which bounds the group by its headroom.

    Parameters
    ----------
    services : tuple of Service
    search : GroupSearch
    residence : Residence
        Who may run where.
    overlap : bool
        Whether other models may join the most urgent query.
    drop : bool
        Give up a query that is predicted to miss its deadline even alone.
    margin_ns : int
        Kept free of every headroom.
    """

    def __init__(
        self,
        services: tuple[Service, ...],
        search: GroupSearch,
        residence: Residence,
        overlap: bool,
        drop: bool,
        margin_ns: int,
    ) -> None:
        self._operators = tuple(service.operators for service in services)
        self._search = search
        self._residence = residence
        self._most = None if overlap else 1
        self._drop = drop
        self._margin_ns = margin_ns

    def plan(
        self, state: State, partition: int, begin_ns: int, running: Group | None = None
    ) -> Decision:
        """Decide what starts at an instant, now or later.

        Parameters
        ----------
        begin_ns : int
            When it would start; the headroom is what is left of the target then (eq. 2, eq. 3).
        running : Group, optional
            What the partition runs until then; its queries count as they will be.

        Returns
        -------
        Decision
            One start, or one drop, or nothing where nobody waits.
        """
        candidates = self._candidates(state, partition, running)[: self._most]
        if not candidates:
            return NOTHING
        urgent = candidates[0].query
        share_percent = state.deployment.partitions[partition].share_percent
        headroom_ns = urgent.deadline_ns - begin_ns - self._margin_ns
        found = self._search.largest(candidates, headroom_ns, share_percent)
        if self._drop and found.predicted_ns > headroom_ns:
            return Decision(drops=(Drop(urgent, begin_ns + found.predicted_ns),))
        return Decision(starts=(Start(partition, found.pieces, found.predicted_ns),))

    def _candidates(
        self, state: State, partition: int, running: Group | None
    ) -> list[GroupCandidate]:
        """The most urgent query of each service, by deadline."""
        rests = {} if running is None else self._rests(running)
        found = []
        for assignment in state.deployment.of_partition[partition]:
            service = assignment.service
            waiting = state.waiting[service]
            if not waiting and service not in rests:
                continue
            query = self._residence.first(waiting, partition)
            best = rests.get(service)
            if query is not None and (best is None or _urgency(query) < _urgency(best.query)):
                begun = state.progress.get(query.id, 0)
                best = GroupCandidate(query, begun, self._operators[service])
            if best is not None:
                found.append(best)
        found.sort(key=lambda candidate: _urgency(candidate.query))
        return found

    def _rests(self, running: Group) -> dict[int, GroupCandidate]:
        """What a group leaves of its queries, by service."""
        return {
            piece.service: GroupCandidate(
                piece.queries[0], piece.end, self._operators[piece.service]
            )
            for piece in running.pieces
            if piece.end < self._operators[piece.service]
        }


def _urgency(query: Query) -> tuple[int, int]:
    return query.deadline_ns, query.id
