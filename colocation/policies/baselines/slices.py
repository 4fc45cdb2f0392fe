"""Time slices in proportion to the targets, each with the whole device.

References
----------
Baseline of D-STACK (TCC'24), sections 6.A and 7 ("temporal sharing"): a cycle of slices, each as
long as its service's target; batches are adaptive, as large as slice and deadline allow. A slice
belongs to its service whether it has work or not, and nothing is begun that outlasts it, except
queries that no slice is long enough for.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.batching import Batches, give_up


@DISPATCHERS.register("slices")
class Slices:
    """Whoever's slice it is.

    Parameters
    ----------
    drop : bool
        Drop queries, in their slice, that miss their deadline even alone.
    """

    def __init__(self, context: Context, drop: bool = False) -> None:
        self._batches = Batches(context)
        self._slos_ns = tuple(service.slo_ns for service in context.services)
        self._drop = drop

    def decide(self, state: State, event: Event) -> Decision:
        """Start a batch of the slice's service, or wait for the next slice."""
        next_ns = state.now_ns
        for partition, group in enumerate(state.running):
            places = state.deployment.of_partition[partition]
            if group is not None or not places:
                continue
            service, until_ns = self._slice(tuple(a.service for a in places), state.now_ns)
            most = next(a.batch for a in places if a.service == service)
            decision = self._in_slice(state, partition, service, most, until_ns)
            if decision.starts or decision.drops:
                return decision
            next_ns = until_ns if next_ns == state.now_ns else min(next_ns, until_ns)
        waits = any(state.waiting)
        return Decision(wake_ns=next_ns) if waits and next_ns > state.now_ns else NOTHING

    def _slice(self, services: tuple[int, ...], now_ns: int) -> tuple[int, int]:
        """The service whose slice it is, and the end of it."""
        cycle_ns = sum(self._slos_ns[service] for service in services)
        end_ns = now_ns - now_ns % cycle_ns
        for service in services:
            end_ns += self._slos_ns[service]
            if now_ns < end_ns:
                break
        return service, end_ns

    def _in_slice(
        self, state: State, partition: int, service: int, most: int, until_ns: int
    ) -> Decision:
        waiting = state.waiting[service]
        if not waiting:
            return NOTHING
        share_percent = state.deployment.partitions[partition].share_percent
        rows = list(self._batches.prefixes(waiting, most, share_percent))
        head, alone_ns = rows[0][0][0], rows[0][1]
        late = state.now_ns + alone_ns > head.deadline_ns
        if late and self._drop:
            return give_up(head, state.now_ns, alone_ns)
        if alone_ns > self._slos_ns[service]:
            return self._batches.start(partition, *rows[0])
        last_ns = until_ns if late else min(until_ns, head.deadline_ns)
        fitting = [row for row in rows if state.now_ns + row[1] <= last_ns]
        return self._batches.start(partition, *fitting[-1]) if fitting else NOTHING
