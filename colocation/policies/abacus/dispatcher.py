"""Abacus: groups of operators of several models, as large as the most urgent query allows.

References
----------
Abacus (SC'21), section 6. The headroom of a round is what the most urgent query has left (eq. 2),
or will have left when the running group ends (eq. 3, pipelined). Departures: a plan that was made
ahead is made anew when a query arrives before it is used (``renew``), as the host is idle then; of
several devices, each continues the queries that it began, and those that it cannot continue
because it is gone are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group
from surplus.colocation.overlap.group_predictor import predict_of
from surplus.colocation.policies.abacus.headroom import HeadroomPlanner
from surplus.colocation.policies.abacus.residence import Residence
from surplus.colocation.policies.abacus.search import GroupSearch


class _Plan(NamedTuple):
    """What runs when its partition is free, but not before ``ready_ns``."""

    start: Start
    ready_ns: int


@DISPATCHERS.register("abacus")
class Abacus:
    """Headroom-based control of operator groups.

    Parameters
    ----------
    ways, rounds
        Of the search; see ``GroupSearch``.
    overlap, drop, margin_ns
        Of the planner; see ``HeadroomPlanner``. Without overlap it is EDF.
    pipelined : bool
        Plan a group while another one runs.
    renew : bool
        Plan again at each arrival.
    thinking_ns : int
        What a decision takes: a group starts no earlier than this after its plan was begun. The
        simulator does not charge decisions otherwise.

    Raises
    ------
    ValueError
        If a number is negative, or one of the search's is out of range.
    """

    def __init__(
        self,
        context: Context,
        ways: int = 4,
        rounds: int | None = None,
        overlap: bool = True,
        drop: bool = True,
        margin_ns: int = 0,
        pipelined: bool = False,
        renew: bool = True,
        thinking_ns: int = 0,
    ) -> None:
        if min(margin_ns, thinking_ns) < 0:
            text = f"got {margin_ns} and {thinking_ns}"
            raise ValueError(f"margin_ns and thinking_ns must be >= 0, {text}")
        self._residence = Residence()
        search = GroupSearch(predict_of(context.predictor), ways, rounds)
        self._planner = HeadroomPlanner(
            context.services, search, self._residence, overlap, drop, margin_ns
        )
        self._operators = tuple(service.operators for service in context.services)
        self._pipelined = pipelined
        self._renew = renew
        self._thinking_ns = thinking_ns
        self._plans: dict[int, _Plan] = {}
        self._deployment: Deployment | None = None

    def decide(self, state: State, event: Event) -> Decision:
        """Start a group, drop a query, or plan ahead, in the first partition that needs it."""
        self._note(state, event)
        if state.deployment is not self._deployment:
            stranded = self._reopened(state)
            if stranded.drops:
                return stranded
            self._deployment = state.deployment
        wakes_ns = []
        for partition, running in enumerate(state.running):
            if running is not None and not self._pipelined:
                continue
            decision = self._planned(state, partition, running)
            if decision.drops:
                self._residence.leave(drop.query for drop in decision.drops)
                return decision
            plan = self._plans.get(partition)
            if plan is None or running is not None:
                continue
            if plan.ready_ns <= state.now_ns:
                return self._begin(partition, plan)
            wakes_ns.append(plan.ready_ns)
        return Decision(wake_ns=min(wakes_ns)) if wakes_ns else NOTHING

    def _planned(self, state: State, partition: int, running: Group | None) -> Decision:
        """Make sure that there is a plan if there can be one; otherwise say whom to drop."""
        if partition in self._plans:
            return NOTHING
        begin_ns = state.now_ns + self._thinking_ns
        if running is not None:
            begin_ns = max(begin_ns, running.start_ns + running.predicted_ns)
        decision = self._planner.plan(state, partition, begin_ns, running)
        if decision.starts:
            start = decision.starts[0]
            self._plans[partition] = _Plan(start, state.now_ns + self._thinking_ns)
            self._residence.settle(start.pieces, partition)
            return NOTHING
        if running is not None and decision.drops and _runs(decision.drops[0].query.id, running):
            return NOTHING
        return decision

    def _begin(self, partition: int, plan: _Plan) -> Decision:
        del self._plans[partition]
        for piece in plan.start.pieces:
            if piece.end == self._operators[piece.service]:
                self._residence.leave(piece.queries)
        return Decision(starts=(plan.start,))

    def _note(self, state: State, event: Event) -> None:
        """Give plans up that an event made void, or that could now be better."""
        group = event.group
        if event.kind is EventKind.FAILED and group is not None:
            for piece in group.pieces:
                self._residence.leave(piece.queries)
            self._give_up(group.partition)
        elif self._renew and event.kind is EventKind.ARRIVAL:
            for partition, running in enumerate(state.running):
                if running is not None:
                    self._give_up(partition)

    def _reopened(self, state: State) -> Decision:
        """Plan anew for other partitions; drop queries whose results are where nobody may go."""
        for partition in tuple(self._plans):
            self._give_up(partition)
        drops: list[Query] = []
        for service, waiting in enumerate(state.waiting):
            if waiting:
                assignments = state.deployment.assignments
                places = frozenset(a.partition for a in assignments if a.service == service)
                drops += self._residence.stranded(waiting, places)
        self._residence.leave(drops)
        return Decision(drops=tuple(Drop(query, state.now_ns) for query in drops))

    def _give_up(self, partition: int) -> None:
        plan = self._plans.pop(partition, None)
        if plan is not None:
            fresh = [piece for piece in plan.start.pieces if piece.start == 0]
            self._residence.leave(query for piece in fresh for query in piece.queries)


def _runs(query: int, group: Group) -> bool:
    return any(own.id == query for piece in group.pieces for own in piece.queries)
