"""Detectors: a backbone, five pyramid levels, and branches of tiny tasks, most of all tasks."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import MachineParams
from surplus.placement.problem import Problem
from surplus.placement.random_graphs import DetectorParams
from surplus.placement.random_graphs import detector as detector_graph

_LEVELS = 5
_JOINS = 2
_BRANCH_TASKS = 5


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    return detector_graph(seed, detector_sizes(tasks), machine)


def detector_sizes(tasks: int) -> DetectorParams:
    """Sizes that come to a number of tasks; what no branch can take is in the backbone."""
    backbone = min(60, max(_LEVELS, tasks // 8))
    level_tasks = min(6, max(1, tasks // 60))
    rest = tasks - _JOINS - backbone - _LEVELS * level_tasks
    branches, left = divmod(rest, _BRANCH_TASKS)
    return DetectorParams(backbone + left, level_tasks, branches, _BRANCH_TASKS)


FAMILY = Family(
    "a backbone, pyramid levels, many branches of tiny tasks",
    least=_LEVELS + _LEVELS + _JOINS + _BRANCH_TASKS,
    make=_make,
)
