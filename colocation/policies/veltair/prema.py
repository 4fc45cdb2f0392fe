"""PREMA's way of sharing: one query at a time has the whole processor, and others preempt it.

References
----------
Choi, Rhu: PREMA, HPCA 2020, section V: a task that waits earns tokens by how long that is compared
with its time alone; those with most tokens, down to the next lower level, are candidates, and the
shortest of what is left of them runs. VELTAIR (ASPLOS'22), section 5.1, compares with it.
Departures: preemption after every few layers, at no cost; all have the same priority; levels are
powers of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor, log2
from typing import NamedTuple

from surplus.colocation.frame.decision import NOTHING, Decision, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.veltair.block_choice import layered
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.policies.veltair.rooms import Room, room_for


class _Alone(NamedTuple):
    """A model on the number of cores where it is fastest."""

    profile: LayerProfile
    cores: int
    layers: int
    whole_ns: int


class _Row(NamedTuple):
    """A query that could run now, and where."""

    tokens: float
    left_ns: int
    query: Query
    worker: int
    model: _Alone
    first: int


@DISPATCHERS.register("prema")
class Prema:
    """Runs layers of one query at a time on each device.

    Parameters
    ----------
    layers : int
        That run between two looks at the others, which is where one preempts; >= 1.

    Raises
    ------
    ValueError
        If there are none, or the predictor does not know layers.
    """

    def __init__(self, context: Context, layers: int = 4) -> None:
        if layers < 1:
            raise ValueError(f"layers must be >= 1, got {layers}")
        self._model = layered(context.predictor).model
        self._layers = layers
        self._used_ns: dict[int, int] = {}
        self._known: dict[tuple[int, int, int, int], _Alone] = {}

    def decide(self, state: State, event: Event) -> Decision:
        """Start the next layers on a device that runs nothing."""
        if event.group is not None and event.kind is EventKind.FAILED:
            self._used_ns.pop(event.group.pieces[0].queries[0].id, None)
        rows = list(self._rows(state))
        if not rows:
            return NOTHING
        most = max(row.tokens for row in rows)
        bound = 2.0 ** floor(log2(most)) if most >= 1 else 0.0
        chosen = min(
            (row for row in rows if row.tokens >= bound),
            key=lambda row: (row.left_ns, row.query.id),
        )
        return self._start(chosen)

    def _rows(self, state: State) -> Iterator[_Row]:
        """Who waits for a device that is free."""
        for service, waiting in enumerate(state.waiting):
            room = room_for(state, service) if waiting else None
            if room is not None and room.free == room.cores:
                for query in _worth_a_look(waiting, state.progress):
                    yield self._row(state, query, room)

    def _row(self, state: State, query: Query, room: Room) -> _Row:
        model = self._alone(query, room.cores)
        first = state.progress.get(query.id, 0)
        waited_ns = state.now_ns - query.arrival_ns - self._used_ns.get(query.id, 0)
        left_ns = model.profile.block_ns(first, model.layers, model.cores)
        tokens = max(0.0, waited_ns / model.whole_ns)
        return _Row(tokens, left_ns, query, room.worker, model, first)

    def _alone(self, query: Query, cores: int) -> _Alone:
        """A query's model on a device of so many cores, looked up once."""
        key = (query.service, query.items, query.sequence, cores)
        if key not in self._known:
            model = self._model(*key)
            profile = model.needs(0).profile
            fastest = profile.fastest(0, model.layers)
            whole_ns = profile.block_ns(0, model.layers, fastest)
            self._known[key] = _Alone(profile, fastest, model.layers, whole_ns)
        return self._known[key]

    def _start(self, row: _Row) -> Decision:
        model = row.model
        end = min(model.layers, row.first + self._layers)
        took_ns = model.profile.block_ns(row.first, end, model.cores)
        used_ns = self._used_ns.pop(row.query.id, 0) + took_ns
        if end < model.layers:
            self._used_ns[row.query.id] = used_ns
        piece = piece_of((row.query,), row.first, end)
        return Decision(starts=(Start(row.worker, (piece,), took_ns, model.cores),))


def _worth_a_look(waiting: Waiting, progress: Mapping[int, int]) -> Iterator[Query]:
    """All but those that are like an older one that has not begun either: that one is preferred."""
    for query in waiting:
        yield query
        if waiting.alike and waiting.in_order and query.id not in progress:
            return
