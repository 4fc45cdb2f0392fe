"""An order in which everything comes after what it waits for."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence


def topological_order(before: Sequence[Collection[int]]) -> list[int]:
    """Kahn's order: of the items that are ready the least comes next, so it is stable.

    Parameters
    ----------
    before : sequence of collection of int
        The distinct items that each item waits for.

    Returns
    -------
    list of int
        Without the items of a cycle and those that wait for them.
    """
    after: list[list[int]] = [[] for _ in before]
    for index, row in enumerate(before):
        for other in row:
            after[other].append(index)
    missing = [len(row) for row in before]
    ready = [index for index, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for other in after[index]:
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(ready, other)
    return order
