"""D-STACK's dispatcher: planned turns of a session, and a fair fill of what they leave.

References
----------
D-STACK (TCC'24), section 6.A. What the text leaves open: queries that could not be answered in
time even alone are dropped; a turn is given up when its service has begun a run within one target
before it (it runs "at least once" then), runs, or has no queries; a due turn that waits for its
share keeps others from taking it; services with a planned batch waiting are filled in first, then
those that ran least, then by deadline; what a batch is, is in ``dstack/window.py``. No batch
outlasts the deadline of its first query.
"""

from __future__ import annotations

from collections.abc import Iterator

from surplus.colocation.frame.decision import Decision, Drop, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.dstack.free_time import FOREVER_NS, Held, free_until_ns
from surplus.colocation.policies.dstack.loaded import Instance, LoadedGpu, loaded_gpus
from surplus.colocation.policies.dstack.scoreboard import Scoreboard
from surplus.colocation.policies.dstack.session_plan import (
    Runner,
    Turn,
    plan_session,
    session_length_ns,
)
from surplus.colocation.policies.dstack.timetable import Timetable
from surplus.colocation.policies.dstack.window import planned_window

_WINDOWS = 3
"""How many of the largest batches of a queue are looked at."""


@DISPATCHERS.register("dstack")
class DStackDispatcher:
    """Works with deployments whose partitions hold their share on demand.

    Parameters
    ----------
    turns : bool
        Plan sessions; False leaves everything to the fill.
    spread : bool
        Keep the runs of the shortest target apart.
    fill : bool
        Run others in what the turns leave; False is the plain spatio-temporal schedule.
    lenient : bool
        Give up turns of services that ran within one target before; False keeps the session's plan.
    sessions : int
        Over which runs are counted for fairness.

    Raises
    ------
    ValueError
        If ``sessions`` is below 1.
    """

    def __init__(
        self,
        context: Context,
        turns: bool = True,
        spread: bool = True,
        fill: bool = True,
        lenient: bool = True,
        sessions: int = 10,
    ) -> None:
        Scoreboard(sessions)
        self._alone_ns = context.predictor.alone_ns
        self._services = context.services
        self._session_ns = session_length_ns([service.slo_ns for service in context.services])
        self._turns, self._spread, self._fill = turns, spread, fill
        self._lenient = lenient
        self._sessions = sessions
        self._deployment: Deployment | None = None
        self._gpus: dict[int, LoadedGpu] = {}
        self._widest: dict[int, int] = {}

    def decide(self, state: State, event: Event) -> Decision:
        """Drop what is hopeless, then start a turn that is due, then fill."""
        if state.deployment is not self._deployment:
            self._adopt(state.deployment)
        drops = tuple(self._hopeless(state))
        if drops:
            return Decision(drops=drops)
        wake_ns = FOREVER_NS
        for gpu in self._gpus.values():
            start = _Choice(self, state, gpu).start()
            if start is not None:
                gpu.started(start.pieces[0].service, state.now_ns)
                return Decision(starts=(start,))
            wake_ns = min(wake_ns, gpu.table.next_ns(state.now_ns) or FOREVER_NS)
        hopeless_ns = self._hopeless_ns(state)
        return Decision(wake_ns=hopeless_ns and min(wake_ns, hopeless_ns))

    def _adopt(self, deployment: Deployment) -> None:
        """Plan the sessions of a deployment."""
        self._deployment = deployment
        self._gpus = loaded_gpus(deployment, self._table, self._sessions, self._gpus)
        self._widest = {}
        for gpu in self._gpus.values():
            for own in gpu.planned:
                widest = self._widest.get(own.service, 0)
                self._widest[own.service] = max(own.share_percent, widest)

    def _table(self, planned: list[Instance]) -> Timetable:
        runners = []
        for own in planned if self._turns else ():
            slo_ns = self._services[own.service].slo_ns
            run_ns = min(slo_ns, max(1, own.took_ns))
            runners.append(Runner(own.service, own.share_percent, run_ns, slo_ns))
        return Timetable(plan_session(runners, self._session_ns, self._spread))

    def _hopeless(self, state: State) -> Iterator[Drop]:
        """Heads of queues that would be late even alone, at once, on their widest instance."""
        now_ns = state.now_ns
        for service, share_percent in self._widest.items():
            for query in state.waiting[service]:
                took_ns = self._alone_ns(service, query.items, query.sequence, share_percent)
                if now_ns + took_ns <= query.deadline_ns:
                    break
                yield Drop(query, now_ns + took_ns)

    def _hopeless_ns(self, state: State) -> int | None:
        """When the next head becomes hopeless; None if nothing waits."""
        found = None
        for service, share_percent in self._widest.items():
            if state.waiting[service]:
                query = state.waiting[service].urgent
                took_ns = self._alone_ns(service, query.items, query.sequence, share_percent)
                last_ns = query.deadline_ns - took_ns + 1
                found = last_ns if found is None else min(found, last_ns)
        return found


class _Choice:
    """What one device could start now."""

    def __init__(self, policy: DStackDispatcher, state: State, gpu: LoadedGpu) -> None:
        self._policy = policy
        self._state = state
        self._gpu = gpu
        partitions = state.deployment.partitions
        self._ends_ns: dict[int, int] = {}
        self._held: list[Held] = []
        for group in state.running:
            if group is not None and partitions[group.partition].device == gpu.index:
                end_ns = max(group.start_ns + group.predicted_ns, state.now_ns + 1)
                self._ends_ns[group.pieces[0].service] = end_ns
                share_percent = partitions[group.partition].share_percent
                self._held.append(Held(group.start_ns, end_ns, share_percent))
        self._free_percent = 100 - sum(held.share_percent for held in self._held)
        self._planned: list[tuple[int, Held]] | None = None

    def start(self) -> Start | None:
        """The turn that is due, else the fill."""
        if self._free_percent <= 0:
            return None
        return self._due() or (self._filled() if self._policy._fill else None)

    def _due(self) -> Start | None:
        """The most urgent due turn that can start; those without need are struck out."""
        state, gpu = self._state, self._gpu
        for turn in gpu.table.due(state.now_ns):
            own = gpu.planned[turn.runner]
            busy = own.service in self._ends_ns
            if busy or not state.waiting[own.service] or not self._needed(turn):
                gpu.table.settle(turn)
                continue
            start = self._batch(own, turn.end_ns)
            if start is not None:
                gpu.table.settle(turn)
                return start
        return None

    def _needed(self, turn: Turn) -> bool:
        service = self._gpu.planned[turn.runner].service
        slo_ns = self._policy._services[service].slo_ns
        return not self._policy._lenient or self._gpu.needs(turn, slo_ns)

    def _filled(self) -> Start | None:
        """Whoever ran least in the last sessions, if what is planned leaves it room."""
        state, gpu = self._state, self._gpu
        session = gpu.table.session(state.now_ns)
        ranked = []
        for service, instances in gpu.instances.items():
            waiting = state.waiting[service]
            narrow = instances[-1].share_percent <= self._free_percent
            if waiting and narrow and service not in self._ends_ns:
                short = len(waiting) * waiting.urgent.items < instances[0].batch
                runs = gpu.board.runs(service, session)
                ranked.append((short, runs, waiting.urgent.deadline_ns, service))
        for *_, service in sorted(ranked):
            for own in gpu.instances[service]:
                start = self._batch(own, 0)
                if start is not None:
                    return start
        return None

    def _batch(self, own: Instance, until_ns: int) -> Start | None:
        """A batch that ends before others need its share, or at least by the end of its turn."""
        state = self._state
        if state.running[own.partition] is not None or own.share_percent > self._free_percent:
            return None
        held = [*self._held, *(h for service, h in self._turns() if service != own.service)]
        free_ns = free_until_ns(own.share_percent, state.now_ns, held)
        if free_ns <= state.now_ns:
            return None
        most = self._policy._services[own.service].max_batch
        alone_ns = self._policy._alone_ns

        def took_ns(items: int, sequence: int) -> int:
            return alone_ns(own.service, items, sequence, own.share_percent)

        queries = state.waiting[own.service].first(_WINDOWS * most)
        sizes = (own.batch, most, max(free_ns, until_ns), state.now_ns)
        found = planned_window(queries, *sizes, took_ns)
        if found is None:
            return None
        piece = piece_of(found[0], 0, self._policy._services[own.service].operators)
        return Start(own.partition, (piece,), found[1])

    def _turns(self) -> list[tuple[int, Held]]:
        """Services and the turns that they are promised, now and in the next session."""
        if self._planned is None:
            self._planned = list(self._promised())
        return self._planned

    def _promised(self) -> Iterator[tuple[int, Held]]:
        state, gpu = self._state, self._gpu
        for turn in gpu.table.due(state.now_ns):
            service = gpu.planned[turn.runner].service
            if service not in self._ends_ns and state.waiting[service] and self._needed(turn):
                yield service, Held(state.now_ns, turn.end_ns, turn.share_percent)
        for turn in gpu.table.coming(state.now_ns):
            service = gpu.planned[turn.runner].service
            if self._ends_ns.get(service, 0) <= turn.start_ns and self._needed(turn):
                yield service, Held(turn.start_ns, turn.end_ns, turn.share_percent)
