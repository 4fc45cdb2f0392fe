"""What the parts of a search take in memory, for who has to keep to a limit.

Measured on detectors of 60 to 3,000 tasks, and rounded up.
"""

from __future__ import annotations

from surplus.milp.windows import LOAD_TASKS_MAX
from surplus.placement.problem import Problem

_MIB = 1 << 20

_WORKER_BYTES = 100 * _MIB
"""A solver's process before it has read anything, libraries included."""

_CONSTRAINT_TASK_BYTES = 260_000
"""A constraint program in its solver, for each task and thread."""

_PAIR_BYTES = 9_000
"""An integer program where it is written down and where it is solved, for each pair of tasks."""

_BOUNDED_BYTES, _PLANNED_BYTES = 20_000, 8_000
"""Windows with their loads, and a plan with its timelines, for each task."""

FOLDING_BYTES = 48 * _MIB
"""Comparisons of all tasks with all, of as many as are folded."""

ANNEALING_BYTES = 48 * _MIB
"""Saved moments of a schedule, for each thread."""


def bounds_bytes(problem: Problem) -> int:
    """Windows of all tasks and the loads between them."""
    count = len(problem.tasks)
    related = 2 * count**2 if count <= LOAD_TASKS_MAX else 0
    return 16 * _MIB + _BOUNDED_BYTES * count + related


def plan_bytes(problem: Problem) -> int:
    """A plan and its timelines."""
    return _PLANNED_BYTES * len(problem.tasks)


def stretch_bytes(count: int, threads: int) -> int:
    """The solver's process for a program of so many tasks of a plan."""
    return _WORKER_BYTES + _CONSTRAINT_TASK_BYTES * count * threads


def program_bytes(solver: str, problem: Problem, threads: int) -> int:
    """A program and its solver's process; of an integer program also what writes it here."""
    count = len(problem.tasks)
    if solver == "cpsat":
        return stretch_bytes(count, threads)
    return _WORKER_BYTES + _PAIR_BYTES * count**2
