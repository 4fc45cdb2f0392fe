"""Start orders for a given choice of devices.

Order matters as much as placement. The planned order is the order of starts in the simulated
schedule, so that the runtime's priority queues repeat what the simulator predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from surplus.placement.evaluator import schedule
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


def ranks_of(keys: Sequence[int] | Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Rank of each task when sorted by its key, ties by index (a topological order)."""
    ranks = [0] * len(keys)
    for rank, task in enumerate(sorted(range(len(keys)), key=lambda task: (keys[task], task))):
        ranks[task] = rank
    return tuple(ranks)


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
    first = Placement(devices, tuple(range(len(devices))), policy)
    if order == "topological":
        return first
    by_rank = ranks_of([-rank for rank in upward_ranks_ns(problem, devices)])
    starts_ns = schedule(problem, Placement(devices, by_rank, policy)).start_ns.tolist()
    return Placement(devices, ranks_of(list(zip(starts_ns, by_rank, strict=True))), policy)


def upward_ranks_ns(problem: Problem, device_of: Sequence[int]) -> list[int]:
    """Longest time from each task's start to the end of the query, queueing left out."""
    ranks = [0] * len(problem.tasks)
    for task in reversed(range(len(ranks))):
        here, after_ns = device_of[task], 0
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            if tensor.is_output:
                after_ns = max(after_ns, problem.copy_ns(here, 0, tensor.size_bytes))
            for consumer in tensor.consumers:
                copy_ns = problem.copy_ns(here, device_of[consumer], tensor.size_bytes)
                after_ns = max(after_ns, copy_ns + ranks[consumer])
        ranks[task] = after_ns + (problem.tasks[task].service_ns[here] or 0)
    return ranks
