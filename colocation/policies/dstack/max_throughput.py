"""Max-throughput: of the batches that fit side by side, those that answer most queries a second.

References
----------
D-STACK (TCC'24), section 6.C: "a schedule that maximizes the sum of the throughput across all the
models"; the text does not say how it is found. Here, at each event, by the best set of waiting
batches for the free share (a knapsack); nothing is kept free for later, nor for fairness.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.side_by_side import Ready, SideBySide


@DISPATCHERS.register("max_throughput")
class MaxThroughput:
    """Works with deployments whose partitions hold their share on demand.

    Parameters
    ----------
    drop : bool
        Drop queries that miss their deadline even alone.
    """

    def __init__(self, context: Context, drop: bool = False) -> None:
        self._filling = SideBySide(context, best_of, drop)

    def decide(self, state: State, event: Event) -> Decision:
        """Start the first batch of the best set."""
        return self._filling.decide(state)


def best_of(ready: Sequence[Ready], free_percent: int) -> Ready | None:
    """First of the batches with the largest sum of queries a second that fit together."""
    chosen: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * (free_percent + 1)
    for place, one in enumerate(ready):
        gain = len(one.queries) / one.took_ns
        for room in range(free_percent, one.share_percent - 1, -1):
            value, places = chosen[room - one.share_percent]
            if value + gain > chosen[room][0]:
                chosen[room] = (value + gain, (*places, place))
    return ready[chosen[free_percent][1][0]]
