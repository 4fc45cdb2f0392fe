"""Best schedules of small problems, by looking at all."""

from itertools import permutations, product

from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate
from tests.placement.hand_problems import on


def able_devices(problem: Problem) -> list[list[int]]:
    """Devices that can run each task."""
    return [[d for d, t in enumerate(task.service_ns) if t is not None] for task in problem.tasks]


def best_dispatch_ns(problem: Problem) -> int:
    """Shortest makespan of the simulator over all devices and priorities."""
    return min(
        simulate(problem, on(devices, order)).makespan_ns
        for devices in product(*able_devices(problem))
        for order in permutations(range(len(problem.tasks)))
    )
