"""Planaria's way of sharing, on cores: each query the cores that its time left asks for.

References
----------
Ghodrati et al.: Planaria, MICRO 2020: at each arrival and end, estimate what every task needs to be
in time; if all fit, give them that and share the rest, if not, serve those of the best score.
VELTAIR (ASPLOS'22), section 5.1, compares with its scheduling on a CPU. Departures: cores for
subarrays; whole models, which go on with other cores at once, where Planaria waits for the end of a
tile; urgency (least time to spare first) for the score, as all have the same priority; cores are
added only where that pays for the new threads; what cannot be in time waits for what can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surplus.colocation.frame.decision import NOTHING, Decision, Resize, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.veltair.block_choice import layered
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.policies.veltair.rooms import Room, free_beside, largest, room_for


@dataclass
class _Task:
    """A query that runs: how much of it was left when it last changed its cores."""

    query: Query
    profile: LayerProfile
    partition: int
    cores: int
    left: float
    since_ns: int

    def left_at(self, now_ns: int) -> float:
        """What is left of the whole model, 0 to 1."""
        return max(0.0, self.left - (now_ns - self.since_ns) / _whole_ns(self.profile, self.cores))


@DISPATCHERS.register("planaria")
class Planaria:
    """Shares the cores anew whenever a query comes or ends.

    Parameters
    ----------
    spawn_ns : int
        What adding cores to what runs is believed to cost.

    Raises
    ------
    ValueError
        If it is negative, or the predictor does not know layers.
    """

    def __init__(self, context: Context, spawn_ns: int = 220_000) -> None:
        if spawn_ns < 0:
            raise ValueError(f"spawn_ns must be >= 0, got {spawn_ns}")
        self._model = layered(context.predictor).model
        self._spawn_ns = spawn_ns
        self._tasks: dict[int, _Task] = {}

    def decide(self, state: State, event: Event) -> Decision:
        """Begin the most urgent query that has room, else move cores to where they are needed."""
        self._tasks = {k: task for k, task in self._tasks.items() if _runs(state, task)}
        extra = self._extra(state)
        new = [waiting.urgent for waiting in state.waiting if waiting]
        placed = [(q, room) for q in new if (room := room_for(state, q.service, extra))]
        for query, room in sorted(placed, key=lambda pair: self._rank(state, *pair)):
            decision = self._begin(state, query, room, extra.get(room.device, 0))
            if decision is not None:
                return decision
        return self._grow(state) or NOTHING

    def _rank(self, state: State, query: Query, room: Room) -> tuple[bool, int, int]:
        """Hopeless ones last, then by time to spare."""
        profile = self._profile(query, room.cores)
        fastest_ns = _whole_ns(profile, profile.fastest(0, len(profile.times_ns)))
        spare_ns = query.deadline_ns - state.now_ns - fastest_ns
        return (spare_ns < 0, spare_ns, query.id)

    def _begin(self, state: State, query: Query, room: Room, extra: int) -> Decision | None:
        """Start a query on what it needs; if that is not free, let others give back their extra.

        They do not if all of it is too little: growing would hand it out again at once.
        """
        profile = self._profile(query, room.cores)
        needed = _needed(profile, 1.0, query.deadline_ns - state.now_ns)
        if needed > room.free:
            fits = needed <= room.free + extra
            return self._shrink(state, room.device) if fits else None
        layers = len(profile.times_ns)
        task = _Task(query, profile, room.worker, needed, 1.0, state.now_ns)
        self._tasks[room.worker] = task
        piece = piece_of((query,), 0, layers)
        start = Start(room.worker, (piece,), _whole_ns(profile, needed), needed)
        return Decision(starts=(start,))

    def _extra(self, state: State) -> dict[int, int]:
        """Cores of each device that its queries do not need to be in time."""
        extra: dict[int, int] = {}
        for _, device, spare in self._spare(state):
            extra[device] = extra.get(device, 0) + spare
        return extra

    def _shrink(self, state: State, device: int) -> Decision | None:
        """Take the cores back that a query of a device does not need to be in time."""
        for task, own, spare in self._spare(state):
            if own == device:
                return self._resize(task, task.cores - spare, state.now_ns)
        return None

    def _spare(self, state: State) -> Iterator[tuple[_Task, int, int]]:
        """Those that have more cores than they need, their devices, and how many more."""
        for task in self._tasks.values():
            spare = task.cores - self._still_needed(task, state.now_ns)
            if spare > 0:
                yield task, state.deployment.partitions[task.partition].device, spare

    def _grow(self, state: State) -> Decision | None:
        """Give free cores away, those that will be late first, then where most time is saved."""
        best: tuple[bool, float, int, _Task, int] | None = None
        for task in self._tasks.values():
            free = free_beside(state, task.partition)
            cores = largest(task.profile.cores, task.cores + free)
            if free <= 0 or cores <= task.cores:
                continue
            counts = [c for c in task.profile.cores if task.cores < c <= cores]
            cores = min(counts, key=lambda c: (_whole_ns(task.profile, c), c))
            before_ns, after_ns = (_whole_ns(task.profile, c) for c in (task.cores, cores))
            gain_ns = task.left_at(state.now_ns) * (before_ns - after_ns)
            if gain_ns > self._spawn_ns:
                late = self._still_needed(task, state.now_ns) > task.cores
                rank = (late, gain_ns, -task.query.id, task, cores)
                best = rank if best is None or rank[:3] > best[:3] else best
        return None if best is None else self._resize(best[3], best[4], state.now_ns)

    def _still_needed(self, task: _Task, now_ns: int) -> int:
        return _needed(task.profile, task.left_at(now_ns), task.query.deadline_ns - now_ns)

    def _resize(self, task: _Task, cores: int, now_ns: int) -> Decision:
        """Book the change: if the executor cannot do it, predictions are a little off."""
        task.left = task.left_at(now_ns)
        task.since_ns = now_ns + (self._spawn_ns if cores > task.cores else 0)
        task.cores = cores
        return Decision(resizes=(Resize(task.partition, cores),))

    def _profile(self, query: Query, cores: int) -> LayerProfile:
        model = self._model(query.service, query.items, query.sequence, cores)
        return model.needs(0).profile


def _runs(state: State, task: _Task) -> bool:
    group = state.running[task.partition]
    return group is not None and group.pieces[0].queries[0].id == task.query.id


def _whole_ns(profile: LayerProfile, cores: int) -> int:
    return profile.block_ns(0, len(profile.times_ns), cores)


def _needed(profile: LayerProfile, left: float, until_ns: int) -> int:
    """Fewest cores that do what is left in time; the fastest number if none do."""
    layers = len(profile.times_ns)
    most_ns = int(until_ns / left) if left > 0 else until_ns
    return profile.least_cores(0, layers, most_ns) or profile.fastest(0, layers)
