"""Thresholds for Comm+SD that an instance's own costs suggest.

What a threshold decides changes only where it passes a cost of some task: by how much that slows
down on the host, and that with its copies. So thresholds are quantiles of these costs, and then,
between the neighbours of the best one, quantiles of the costs in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surplus.placement.communication import communication_ns
from surplus.placement.overflow import HOST, can_overflow, default_devices, extra_service_ns
from surplus.placement.problem import Problem


def threshold_costs_ns(problem: Problem) -> list[int]:
    """Costs of tasks that may overflow, those of the rest left where they are by default.

    Returns
    -------
    list of int
        Distinct, ascending, above 0, ns.
    """
    devices = default_devices(problem)
    found = set()
    for task, home in enumerate(default_devices(problem)):
        if can_overflow(problem, task):
            extra_ns = extra_service_ns(problem, task)
            devices[task] = HOST
            found |= {extra_ns, extra_ns + communication_ns(problem, devices, task)}
            devices[task] = home
    return sorted(cost for cost in found if cost > 0)


def best_threshold_ns(
    costs_ns: Sequence[int],
    cost_of: Callable[[int], int],
    first: Sequence[int],
    count: int,
    rounds: int,
) -> int:
    """The threshold at which ``cost_of`` is least, of those tried; ties go to the lower one.

    Parameters
    ----------
    costs_ns : sequence of int
        Ascending: a threshold is one more than one of these, so that it lets that pass.
    first : sequence of int
        Thresholds to try in any case.
    count, rounds : int
        Thresholds of each round, and rounds after the first.
    """
    tried = {alpha_ns: cost_of(alpha_ns) for alpha_ns in first}
    between = list(costs_ns)
    for _ in range(1 + rounds):
        for cost in quantiles(between, count):
            if cost + 1 not in tried:
                tried[cost + 1] = cost_of(cost + 1)
        best = min(tried, key=lambda alpha_ns: (tried[alpha_ns], alpha_ns))
        lower = max((a for a in tried if a < best), default=0)
        upper = min((a for a in tried if a > best), default=float("inf"))
        between = [cost for cost in costs_ns if lower < cost + 1 < upper and cost + 1 != best]
    return best


def quantiles(costs: Sequence[int], count: int) -> list[int]:
    """So many of the costs, evenly by rank, the last among them."""
    if len(costs) <= count:
        return list(costs)
    return [costs[(place + 1) * len(costs) // count - 1] for place in range(count)]
