"""Cuts a model into groups of about equal time, where few tensors cross: what policies run.

Groups are stretches of the model's tasks in the order in which they run, so that they form a
chain. The best of all ways to cut is found by dynamic programming over the places between tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError

CROSSING_COST = 0.05
"""What each tensor above one that crosses a cut weighs: as much as a group whose time is off by
22 % of an even share (its square)."""


def cut(
    graph: Graph,
    order: Sequence[int],
    times_ns: Sequence[int],
    groups: int,
    blocks: Sequence[tuple[int, int]] = (),
) -> list[tuple[int, int]]:
    """First place and end of each group, in the order in which the tasks run.

    Parameters
    ----------
    order : sequence of int, (tasks,)
        Tasks, each behind those that it reads from.
    times_ns : sequence of int, (tasks,)
        What each takes, in that order.
    groups : int
    blocks : sequence of (int, int)
        First place and end of groups that there must be; ascending, none overlap.

    Raises
    ------
    ConfigError
        If the model has fewer tasks than that, or the blocks ask for fewer or more groups.
    """
    count = len(graph.tasks)
    if not 1 <= groups <= count:
        raise ConfigError(f"{count} operators cannot be cut into {groups} groups")
    ends_ns = np.array([0, *accumulate(times_ns)], np.float64)
    ideal_ns = max(1.0, ends_ns[-1] / groups)
    length = (ends_ns[None, :] - ends_ns[:, None]) / ideal_ns
    step = (length - 1.0) ** 2
    step[np.tril_indices(count + 1)] = np.inf
    step += CROSSING_COST * np.maximum(0, _crossing(graph, order) - 1)[None, :]
    for first, end in blocks:
        _keep_whole(step, first, end)
    places = _cheapest(step, groups)
    if not places:
        text = f"cannot be cut into {groups} groups of which {len(blocks)} are compiled blocks"
        raise ConfigError(f"{text}: {_possible(count, blocks)}")
    return list(pairwise(places))


def _keep_whole(step: npt.NDArray[np.float64], first: int, end: int) -> None:
    """Forbid every group that has a part of a block, or more than it."""
    own = step[first, end]
    step[:end, first + 1 :] = np.inf
    step[first, end] = own


def _possible(count: int, blocks: Sequence[tuple[int, int]]) -> str:
    """How many groups there can be."""
    ends = [0, *(place for block in blocks for place in block), count]
    between = [end - first for first, end in zip(ends[::2], ends[1::2], strict=True)]
    least = len(blocks) + sum(tasks > 0 for tasks in between)
    return f"{least} to {len(blocks) + sum(between)} are possible"


def _cheapest(step: npt.NDArray[np.float64], groups: int) -> list[int]:
    """Places of the cuts, both ends included, such that the steps between them cost least.

    None if there is no way.
    """
    last = len(step) - 1
    cost = np.full(last + 1, np.inf)
    cost[0] = 0.0
    came_from = []
    for _ in range(groups):
        ways = cost[:, None] + step
        came_from.append(ways.argmin(axis=0))
        cost = ways.min(axis=0)
    if not np.isfinite(cost[last]):
        return []
    places = [last]
    for row in reversed(came_from):
        places.append(int(row[places[-1]]))
    return places[::-1]


def _crossing(graph: Graph, order: Sequence[int]) -> npt.NDArray[np.int64]:
    """Tensors made before each place among the tasks and read from there on; none at the end."""
    place_of = {task: place for place, task in enumerate(order)}
    change = np.zeros(len(order) + 1, np.int64)
    for tensor in graph.tensors:
        if tensor.producer >= 0 and tensor.consumers:
            change[place_of[tensor.producer] + 1] += 1
            change[max(place_of[task] for task in tensor.consumers) + 1] -= 1
    return np.cumsum(change)
