"""Duty cycles: services of a partition take turns with batches of the planned size.

References
----------
Nexus (SOSP'19), section 6.3, early drop: a window of the planned batch slides over the queue, and
queries before the first window that can end in time are dropped. Departure: turns are
work-conserving, a batch that is not full does not wait for the end of the cycle, so that a turn
never comes later than planned.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.deployment import Assignment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.batching import Batches, Turns, give_up


@DISPATCHERS.register("duty_cycle")
class DutyCycle:
    """Round robin, at most the planned batch a turn.

    Parameters
    ----------
    drop : bool
        Early drop.
    """

    def __init__(self, context: Context, drop: bool = True) -> None:
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
        most = max(who.batch, waiting.urgent.items)
        queries, took_ns = self._batches.longest(waiting, most, share_percent)
        if self._drop and state.now_ns + took_ns > queries[0].deadline_ns:
            return give_up(queries[0], state.now_ns, took_ns)
        return self._batches.start(who.partition, queries, took_ns)
