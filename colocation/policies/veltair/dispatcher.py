"""VELTAIR's dispatcher, and the granularities that it is compared with.

References
----------
VELTAIR (ASPLOS'22), section 4.3, Algorithm 3, and section 3.2. What the text leaves open: new
queries come first come, first served, when all cores that their first block needs are free; a query
that has begun goes on with the cores that there are, and gets the rest when they are free, which
costs new threads (``grow``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Resize, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.veltair.block_choice import (
    Block,
    BlockChoice,
    BlockParams,
    layered,
)
from surplus.colocation.policies.veltair.rooms import Room, free_beside, largest, room_for

_GROWTHS = ("eager", "paying", "none")


class _Paused(NamedTuple):
    """A query that has begun and holds no cores, and the device where it did."""

    query: Query
    device: int


@DISPATCHERS.register("layer_blocks")
class LayerBlocks:
    """Gives blocks of layers their cores.

    Parameters
    ----------
    grow : str
        Whether a block that got fewer cores than it needs gets them later: ``eager`` as soon as
        they are free (as in the paper), ``paying`` if that is faster, or ``none``.
    spawn_ns : int
        What new threads are believed to cost.
    drop : bool
        Drop a new query that even alone is predicted to miss its deadline.
    **options
        Of ``BlockParams``.

    Raises
    ------
    ValueError
        If an option is out of range, or the predictor does not know layers.
    """

    def __init__(
        self,
        context: Context,
        grow: str = "paying",
        spawn_ns: int = 220_000,
        drop: bool = False,
        **options: Any,
    ) -> None:
        if grow not in _GROWTHS or spawn_ns < 0:
            text = f"got {grow!r} and {spawn_ns}"
            raise ValueError(f"grow must be one of {_GROWTHS}, spawn_ns >= 0, {text}")
        params = BlockParams(**options)
        self._choice = BlockChoice(layered(context.predictor), params)
        self.reads_pressure = params.reads_machine
        self._grow = grow
        self._spawn_ns = spawn_ns
        self._drop = drop
        self._paused: list[_Paused] = []
        self._running: dict[int, Block] = {}
        self._deployment: Deployment | None = None

    def decide(self, state: State, event: Event) -> Decision:
        """Go on with what has begun, then give cores that are missing, then begin."""
        if state.deployment is not self._deployment:
            self._deployment = state.deployment
            self._paused = [own for own in self._paused if own.query.id in state.progress]
        self._note(state, event)
        return self._go_on(state) or self._add_cores(state) or self._begin(state) or NOTHING

    def _note(self, state: State, event: Event) -> None:
        """Learn from a block that has ended, and who of it goes on."""
        group = event.group
        block = None if group is None else self._running.get(group.partition)
        if group is None or block is None or not _is(group, block):
            return
        if state.running[group.partition] is group:
            return
        del self._running[group.partition]
        if event.kind is EventKind.DONE:
            if group.cores == block.cores:
                self._choice.took(block, event.time_ns - group.start_ns)
            if block.query.id in state.progress:
                device = state.deployment.partitions[group.partition].device
                self._paused.append(_Paused(block.query, device))

    def _go_on(self, state: State) -> Decision | None:
        """The next block of a query that has begun, on what is free of the cores it needs."""
        for own in self._paused:
            room = room_for(state, own.query.service)
            block = None if room is None else self._next(state, own.query, room)
            if room is not None and block is not None:
                self._paused.remove(own)
                return self._start(room.worker, block)
        return None

    def _begin(self, state: State) -> Decision | None:
        """The oldest query that has not begun, once its first block has the cores it needs."""
        heads = (next((q for q in w if q.id not in state.progress), None) for w in state.waiting)
        query = min((head for head in heads if head is not None), default=None)
        room = None if query is None else room_for(state, query.service)
        if query is None or room is None:
            return None
        if self._drop:
            profile = self._choice.model(query, room.cores).needs(0).profile
            layers = len(profile.times_ns)
            end_ns = state.now_ns + profile.block_ns(0, layers, profile.fastest(0, layers))
            if end_ns > query.deadline_ns:
                return Decision(drops=(Drop(query, end_ns),))
        block = self._next(state, query, room)
        if block is None or block.cores < block.needed:
            return None
        return self._start(room.worker, block)

    def _next(self, state: State, query: Query, room: Room) -> Block | None:
        """The next block, with an eye on all who have begun on the device."""
        paused = [own.query for own in self._paused if own.device == room.device]
        return self._choice.next(state, query, room, paused)

    def _start(self, worker: int, block: Block) -> Decision:
        self._running[worker] = block
        piece = piece_of((block.query,), block.first, block.end)
        start = Start(worker, (piece,), block.predicted_ns, block.cores, block.version)
        return Decision(starts=(start,))

    def _add_cores(self, state: State) -> Decision | None:
        """Cores for the first block that runs on fewer than it needs."""
        if self._grow == "none":
            return None
        for partition, block in self._running.items():
            group = state.running[partition]
            if group is None or not _is(group, block) or group.cores >= block.needed:
                continue
            most = min(block.needed, group.cores + free_beside(state, partition))
            own = state.deployment.partitions[partition]
            profile = self._choice.model(block.query, own.cores).needs(block.version).profile
            cores = largest(profile.cores, most)
            before_ns = profile.block_ns(block.first, block.end, group.cores)
            after_ns = profile.block_ns(block.first, block.end, cores) if cores else before_ns
            left = 1.0 - (state.now_ns - group.start_ns) / max(1, group.predicted_ns)
            pays = max(0.0, left) * (before_ns - after_ns) > self._spawn_ns
            if cores > group.cores and (pays or self._grow == "eager"):
                return Decision(resizes=(Resize(partition, cores),))
        return None


def _is(group: Group, block: Block) -> bool:
    """Whether a group is the block that was started in its partition."""
    piece = group.pieces[0]
    return piece.queries[0].id == block.query.id and piece.start == block.first
