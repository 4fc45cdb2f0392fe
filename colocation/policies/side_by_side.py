"""What the policies have in common that fill a device with batches side by side.

Partitions hold their share while they run; a policy says which of the batches that could start
now does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.policies.batching import Batches, give_up


@dataclass(frozen=True)
class Ready:
    """A batch that could start now, if its device has the share."""

    partition: int
    share_percent: int
    queries: tuple[Query, ...]
    took_ns: int


Choice = Callable[[Sequence[Ready], int], Ready | None]
"""Batches of one device, all of which fit alone, and its free share -> the one that starts."""


class SideBySide:
    """Starts batches, as long as there is one that a policy chooses.

    Parameters
    ----------
    context : Context
    choice : callable
    drop : bool
        Whether a query that is predicted to miss its deadline even alone is dropped; otherwise a
        service that is late catches up with the largest batches that it may form.
    """

    def __init__(self, context: Context, choice: Choice, drop: bool) -> None:
        self._batches = Batches(context)
        self._choice = choice
        self._drop = drop
        self._deployment: Deployment | None = None
        self._of_device: dict[int, list[Assignment]] = {}

    def decide(self, state: State) -> Decision:
        """Drop or start one batch on the first device that has one."""
        if state.deployment is not self._deployment:
            self._adopt(state.deployment)
        for own in self._of_device.values():
            ready: list[Ready] = []
            free_percent = 100 - self._held_percent(state, own)
            for assignment in own:
                found = self._next(state, assignment)
                if isinstance(found, Decision):
                    return found
                if found is not None and found.share_percent <= free_percent:
                    ready.append(found)
            chosen = self._choice(ready, free_percent) if ready else None
            if chosen is not None:
                return self._batches.start(chosen.partition, chosen.queries, chosen.took_ns)
        return NOTHING

    def _adopt(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._of_device = {}
        for assignment in deployment.assignments:
            device = deployment.partitions[assignment.partition].device
            self._of_device.setdefault(device, []).append(assignment)

    def _held_percent(self, state: State, own: Sequence[Assignment]) -> int:
        """Share that runs on the device, on partitions that have closed since, too."""
        partitions = state.deployment.partitions
        device = partitions[own[0].partition].device
        return sum(
            partitions[group.partition].share_percent
            for group in state.groups
            if partitions[group.partition].device == device
        )

    def _next(self, state: State, who: Assignment) -> Ready | Decision | None:
        """The batch of a service, or the drop of its first query; None if it cannot start."""
        waiting = state.waiting[who.service]
        if not waiting or state.running[who.partition] is not None:
            return None
        share_percent = state.deployment.partitions[who.partition].share_percent
        batch = (waiting, max(who.batch, waiting.urgent.items), share_percent)
        found = self._batches.longest_in_time(*batch, state.now_ns)
        if found is None and self._drop:
            queries, took_ns = next(self._batches.prefixes(*batch))
            return give_up(queries[0], state.now_ns, took_ns)
        return Ready(who.partition, share_percent, *(found or self._batches.longest(*batch)))
