"""Max-min fair: the service with the smallest demand is placed first.

References
----------
D-STACK (TCC'24), section 6.C: "a Max-Min fair scheduler, which maximizes the placement of the
minimum (smallest) demand (GPU%)". Whenever a device has room, the waiting service with the
smallest share starts. Departure: among equal shares, the most urgent query.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.side_by_side import Ready, SideBySide


@DISPATCHERS.register("max_min")
class MaxMin:
    """Works with deployments whose partitions hold their share on demand.

    Parameters
    ----------
    drop : bool
        Drop queries that miss their deadline even alone.
    """

    def __init__(self, context: Context, drop: bool = False) -> None:
        self._filling = SideBySide(context, smallest_of, drop)

    def decide(self, state: State, event: Event) -> Decision:
        """Start the smallest demand that waits."""
        return self._filling.decide(state)


def smallest_of(ready: Sequence[Ready], free_percent: int) -> Ready | None:
    """The batch with the smallest share; of equals, the most urgent one."""
    return min(ready, key=_rank)


def _rank(one: Ready) -> tuple[int, int, int]:
    first = one.queries[0]
    return one.share_percent, first.deadline_ns, first.id
