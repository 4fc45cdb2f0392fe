"""Cuts a placed task graph into convex clusters, phase by phase.

An edge is a *hub edge* if it crosses devices, leaves a task with many successors or enters a
task with many predecessors. A task's phase is the largest number of hub edges on a path to it.
A cluster is a set of tasks of one phase that are connected without hub edges.

Why this is safe: every hub edge raises the phase, and every other edge stays inside its
connected component, so an edge between two clusters always leads to a later phase. Hence the
clusters form an acyclic graph, and clusters of one phase may be merged in any combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surplus.engine.segmentation.disjoint_sets import DisjointSets
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class Cluster:
    """Tasks (ascending) of one device that may run as one unit, of ``width`` lanes if planned."""

    tasks: tuple[int, ...]
    device: int
    phase: int
    width: int = 1


def clusters(problem: Problem, device_of: Sequence[int], fan: int) -> list[Cluster]:
    """Cut at every device boundary and at every task with ``fan`` or more neighbours.

    Parameters
    ----------
    problem : Problem
        Only its edges are read.
    device_of : sequence of int
        Device index of each task.
    fan : int
        Degree from which a task is a hub, >= 2. Beyond the largest degree only device
        boundaries cut.

    Returns
    -------
    list of Cluster
        In order of phase, then of first task.
    """
    if fan < 2:
        raise ValueError(f"fan must be >= 2, got {fan}")
    before, after = problem.predecessors, problem.successors
    return cut_at(problem, device_of, lambda a, b: len(before[b]) >= fan or len(after[a]) >= fan)


def cut_at(
    problem: Problem, device_of: Sequence[int], is_hub: Callable[[int, int], bool]
) -> list[Cluster]:
    """Cut at every device boundary and at every edge (from, to) that ``is_hub`` names."""
    phase = [0] * len(problem.tasks)
    joined = DisjointSets(range(len(problem.tasks)))
    plain_edges: list[tuple[int, int]] = []
    for task, before in enumerate(problem.predecessors):
        for other in before:
            cut = device_of[other] != device_of[task] or is_hub(other, task)
            phase[task] = max(phase[task], phase[other] + cut)
            if not cut:
                plain_edges.append((other, task))
    for other, task in plain_edges:
        if phase[other] == phase[task]:
            joined.join(other, task)
    found = [Cluster(tasks, device_of[tasks[0]], phase[tasks[0]]) for tasks in joined.sets()]
    return sorted(found, key=lambda c: (c.phase, c.tasks[0]))
