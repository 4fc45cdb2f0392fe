"""Temporal sharing with adaptive batching: services take turns on the whole device.

References
----------
Baseline of D-STACK (TCC'24), section 7, and of gpulet (ATC'22), section 2: one model at a time,
the batch as large as the deadline of its oldest query allows. Turns are work-conserving: a
service with nothing to do is passed over.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.deployment import Assignment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.batching import Batches, Turns, give_up


@DISPATCHERS.register("temporal")
class Temporal:
    """Round robin, a batch a turn.

    Parameters
    ----------
    drop : bool
        Drop queries that miss their deadline even alone. Without it, a service that is late
        catches up with the largest batches that it may form.
    """

    def __init__(self, context: Context, drop: bool = False) -> None:
        self._batches = Batches(context)
        self._turns = Turns()
        self._drop = drop

    def decide(self, state: State, event: Event) -> Decision:
        """Give the next service its turn."""
        return self._turns.decide(state, self._turn)

    def _turn(self, state: State, who: Assignment, share_percent: int) -> Decision:
        waiting = state.waiting[who.service]
        if not waiting:
            return NOTHING
        batch = (waiting, who.batch, share_percent)
        found = self._batches.longest_in_time(*batch, state.now_ns)
        if found is None and self._drop:
            queries, took_ns = next(self._batches.prefixes(*batch))
            return give_up(queries[0], state.now_ns, took_ns)
        queries, took_ns = found or self._batches.longest(*batch)
        return self._batches.start(who.partition, queries, took_ns)
