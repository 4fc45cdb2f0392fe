"""Start orders for a given choice of devices.

Order matters as much as placement. The planned order is the order of starts in the simulated
schedule, so that the runtime's priority queues repeat what the simulator predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from surplus.placement.evaluator import Numbers, compiled
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

Order = Literal["rank", "topological"]


def check_order(order: str) -> None:
    """Raise ValueError if ``order`` is unknown."""
    if order not in get_args(Order):
        raise ValueError(f"order must be one of {', '.join(get_args(Order))}; got {order!r}")


def check_alpha(alpha_ns: int) -> None:
    """Raise ValueError if a threshold is negative."""
    if alpha_ns < 0:
        raise ValueError(f"alpha_ns must be >= 0, got {alpha_ns}")


def order_of(*keys: Numbers) -> Numbers:
    """Rank of each task when sorted by its first key, ties by the next, then by index."""
    ranks = np.empty(len(keys[0]), dtype=np.int64)
    ranks[np.lexsort(keys[::-1])] = np.arange(len(ranks))
    return ranks


def planned(
    problem: Problem, device_of: Sequence[int], policy: str, order: Order = "rank"
) -> Placement:
    """Add a start order to a choice of devices.

    Parameters
    ----------
    order : {"rank", "topological"}
        ``"rank"``: list scheduling by upward rank (longest way to the end of the query on the
        chosen devices, copies included), ranked by the starts that it yields.
        ``"topological"``: the order of the problem's tasks, as a sequential runtime has it.
    """
    devices = tuple(device_of)
    if order == "topological":
        return Placement(devices, tuple(range(len(devices))), policy)
    priority = planned_order(problem, np.array(devices, dtype=np.int64))
    return Placement(devices, tuple(priority.tolist()), policy)


def planned_order(problem: Problem, device_of: Numbers) -> Numbers:
    """Priorities by ``"rank"``: that of ``planned``, of arrays."""
    asked = compiled(problem)
    by_rank = order_of(-asked.upward_ranks_ns(device_of))
    _, starts_ns, _, _ = asked.schedule(device_of, by_rank)
    return order_of(starts_ns, by_rank)
