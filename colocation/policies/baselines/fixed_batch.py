"""Fixed batches: a service runs when its batch is full, or when it can wait no longer.

References
----------
Baseline of D-STACK (TCC'24), section 7 (fixed batch, there of 16 and beside others under MPS).
The paper does not say what happens to a batch that does not fill: here it runs at the last
moment at which its first query still meets its deadline, by prediction.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.deployment import Assignment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.batching import Batches, Turns, give_up


@DISPATCHERS.register("fixed_batch")
class FixedBatch:
    """Round robin over the services whose batch is full or due.

    Parameters
    ----------
    batch : int, optional
        Items; the planned batch of each assignment if not given, and never more than it.
    drop : bool
        Drop queries that miss their deadline even alone.

    Raises
    ------
    ValueError
        If ``batch`` is below 1.
    """

    def __init__(self, context: Context, batch: int | None = None, drop: bool = False) -> None:
        if batch is not None and batch < 1:
            raise ValueError(f"batch must be >= 1, got {batch}")
        self._batches = Batches(context)
        self._turns = Turns()
        self._batch = batch
        self._drop = drop
        self._dues_ns: list[int] = []

    def decide(self, state: State, event: Event) -> Decision:
        """Run a full batch, or one that is due; ask to be woken when the next one is."""
        self._dues_ns.clear()
        decision = self._turns.decide(state, self._turn)
        if decision.starts or decision.drops or not self._dues_ns:
            return decision
        return Decision(wake_ns=min(self._dues_ns))

    def _turn(self, state: State, who: Assignment, share_percent: int) -> Decision:
        waiting = state.waiting[who.service]
        if not waiting:
            return NOTHING
        most = who.batch if self._batch is None else min(self._batch, who.batch)
        most = max(most, waiting.urgent.items)
        if self._drop:
            queries, took_ns = next(self._batches.prefixes(waiting, most, share_percent))
            if state.now_ns + took_ns > queries[0].deadline_ns:
                return give_up(queries[0], state.now_ns, took_ns)
        queries, took_ns = self._batches.longest(waiting, most, share_percent)
        full = len(queries) < len(waiting) or sum(query.items for query in queries) == most
        due_ns = queries[0].deadline_ns - took_ns
        if full or due_ns <= state.now_ns:
            return self._batches.start(who.partition, queries, took_ns)
        self._dues_ns.append(due_ns)
        return NOTHING
