"""The reference: the best over all devices, topological orders and orders of copies."""

from itertools import product

from surplus.milp.schedule import schedule_in_order
from surplus.placement import Placement, memory_use


def topological_orders(problem):
    """All orders in which tasks may start."""

    def grow(order, done):
        if len(order) == len(problem.tasks):
            yield tuple(order)
        for task, before in enumerate(problem.predecessors):
            if task not in done and done.issuperset(before):
                yield from grow([*order, task], done | {task})

    return list(grow([], frozenset()))


def best_makespan_ns(problem):
    """Length of the shortest schedule in which copies go out in the order of readiness.

    Schedules that a memory does not hold do not count; None if none is left.
    """
    ranks = []
    for order in topological_orders(problem):
        rank = [0] * len(order)
        for place, task in enumerate(order):
            rank[task] = place
        ranks.append(tuple(rank))
    choices = [[d for d, t in enumerate(k.service_ns) if t is not None] for k in problem.tasks]
    placements = [Placement(d, rank, "all") for d in product(*choices) for rank in ranks]
    timelines = ((p, schedule_in_order(problem, p)) for p in placements)
    return min((t.makespan_ns for p, t in timelines if _held(problem, p, t)), default=None)


def _held(problem, placement, timeline):
    uses = memory_use(problem, placement, timeline)
    return all(
        device.memory_bytes is None or uses[device.memory].peak_bytes <= device.memory_bytes
        for device in problem.devices
    )
