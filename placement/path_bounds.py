"""Bounds from precedence: how early a task can start, and how long the query goes on after it.

Lanes and links are unlimited here. ``d`` ranges over the devices that can run a task; each edge
may take the device that suits it best, so that no choice of a real schedule is cheaper. Graph
inputs come from the host, graph outputs have to return there.

The evaluator makes the tables: they are HOFT's and PEFT's optimistic times, of least services.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.placement.evaluator import compiled
from surplus.placement.problem import Problem

Numbers = NDArray[np.int64]

NEVER_NS = 1 << 62
"""Of a task on a device that cannot run it; later than all times."""


@dataclass(frozen=True)
class BoundTables:
    """What every schedule keeps to, by task and device, nanoseconds, ``NEVER_NS`` where it cannot.

    Parameters
    ----------
    services_ns, works_ns : array of int64, shape (tasks, devices)
        Least time and least lane-nanoseconds, at any width and however lanes slow each other.
    starts_ns, afters_ns : array of int64, shape (tasks, devices)
        Least start, and least time from the end to the end of the query.
    """

    services_ns: Numbers
    works_ns: Numbers
    starts_ns: Numbers
    afters_ns: Numbers

    def path_ns(self) -> int:
        """Critical path on the best devices with the cheapest transfers."""
        through = self.starts_ns + self.services_ns + self.afters_ns
        through = np.where(self.services_ns < NEVER_NS, through, NEVER_NS)
        return int(through.min(axis=1).max(initial=0))

    def heads_ns(self) -> Numbers:
        """Least start of each task, whatever its device."""
        heads_ns: Numbers = self.starts_ns.min(axis=1)
        return heads_ns

    def tails_ns(self) -> Numbers:
        """Least time from the end of each task to the end of the query, whatever its device."""
        tails_ns: Numbers = self.afters_ns.min(axis=1)
        return tails_ns


def least_times_ns(problem: Problem) -> tuple[Numbers, Numbers]:
    """The services and the works of ``BoundTables``, for who needs no paths."""
    services, works = compiled(problem).least_times_ns()
    return _able(services, services), _able(services, works)


def bound_tables(problem: Problem) -> BoundTables:
    """Ask the evaluator."""
    services, works = least_times_ns(problem)
    finishes, afters = compiled(problem).least_paths_ns()
    return BoundTables(
        services, works, _able(finishes, finishes - services), _able(finishes, afters)
    )


def _able(table: Numbers, values: Numbers) -> Numbers:
    """The values where the table says that a task can run."""
    return np.where(table >= 0, values, NEVER_NS)
