"""Which batches run side by side in one group, on a whole device."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.policies.surplus.choice import Column
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.savings import Savings


class Grouping:
    """Adds batches to one that starts, as long as all of them have the time and it pays.

    Parameters
    ----------
    ratios, market, savings
        What is learnt of times, worth, and saved.
    """

    def __init__(self, ratios: TimeRatios, market: Market, savings: Savings) -> None:
        self._ratios = ratios
        self._market = market
        self._savings = savings

    def around(self, best: Column, columns: Sequence[Column], now_ns: int) -> list[Column]:
        """A batch, and those of its partition that join it, the most valuable first."""
        group = [best]
        if len(columns) == 1:
            return group
        for other in sorted(columns, reverse=True):
            if other is best or other.partition != best.partition or not other.worthy:
                continue
            longer = [*group, other]
            bound = max(self._ratios.bound[own.service] for own in longer)
            due_ns = min(own.task.deadline_ns for own in longer)
            in_time = now_ns + bound * self.group_ns(longer) <= due_ns
            if in_time and self._worthwhile(other, group) and self._savings.pays(_names(longer)):
                group = longer
        return group

    def group_ns(self, group: Sequence[Column]) -> int:
        """Predicted time of all together."""
        if len(group) == 1:
            return group[0].task.took_ns
        total_ns = sum(own.task.took_ns for own in group)
        return round(total_ns * self._savings.kept(_names(group)))

    def _worthwhile(self, other: Column, group: list[Column]) -> bool:
        """Whether a batch brings as much above its price in a group as in a good batch later."""
        price = self._market.price.per_work
        if not price:
            return True
        more_ns = self.group_ns([*group, other]) - self.group_ns(group)
        later = other.size * self._market.profit(other.service, price)
        return other.task.value - price * other.task.share_percent * more_ns >= later


def _names(group: Sequence[Column]) -> tuple[int, ...]:
    """The services, ascending."""
    return tuple(sorted(own.service for own in group))
