"""Plans that are made bad on purpose, and their orders."""

from __future__ import annotations

from random import Random

from surplus.milp.incumbent import Incumbent
from surplus.milp.schedule import schedule_in_order
from surplus.milp.stretches.orders import PlannedOrders
from surplus.placement import Placement, Problem, simulate
from surplus.placement.random_graphs import inception, small_random
from surplus.placement.random_widths import with_widths
from surplus.placement.topological_ranks import topological_ranks
from surplus.placement.widths import times_at


def at_random(problem: Problem, random: Random) -> Placement:
    """Any device and width of each task, and any order in which no task is before its inputs."""
    choices = [
        random.choice([(d, n) for d in range(len(problem.devices)) for n, _ in times_at(task, d)])
        for task in problem.tasks
    ]
    ranks = topological_ranks(problem, lambda task: random.random())
    return Placement(
        tuple(device for device, _ in choices), ranks, "bad", tuple(width for _, width in choices)
    )


def bad(problem: Problem, random: Random) -> Incumbent:
    """A plan at random, as it is dispatched or in the very order of its priorities."""
    placed = at_random(problem, random)
    dispatched = simulate(problem, placed)
    timeline = random.choice([dispatched, schedule_in_order(problem, placed)])
    return Incumbent(placed, timeline, dispatched.makespan_ns)


def instance(seed: int) -> Problem:
    """A small problem: random, inception-like, with widths or without."""
    random = Random(f"stretch {seed}")
    problem = (
        inception(seed, 2, 3, 2)
        if seed % 4 == 0
        else small_random(seed, random.randint(2, 24), random.randint(1, 3))
    )
    return with_widths(problem, seed) if seed % 3 == 0 else problem


def orders(seed: int) -> PlannedOrders:
    """Those of a bad plan of ``instance``."""
    problem = instance(seed)
    return PlannedOrders(problem, bad(problem, Random(seed)))
