"""Lower bounds on the makespan of any placement and order.

No bound is ever capped with a known schedule, so that a fault in one shows up as a bound above a
makespan instead of as a gap of zero.

They hold with all that a problem can have. Lanes that slow each other enter by the least that a
task can take (``Problem.least_service_ns``). Submitting threads, bounded staging pools, copies that
queue and memories that are full only make things wait: none of them is counted, and what waits
ends no earlier.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.load_bounds import load_bound_ns, window_bound_ns
from surplus.placement.path_bounds import bound_tables
from surplus.placement.problem import Problem
from surplus.placement.width_bounds import width_bound_ns


@dataclass(frozen=True)
class Bounds:
    """No schedule is shorter than any of these.

    Parameters
    ----------
    path_ns : int
        Longest path with the best device for each task and the transfers that it forces.
    load_ns : int
        Work over lanes, with the work shared out as well as fractions allow.
    window_ns : int
        The same for the tasks between two points of the query, plus the paths before and after.
    width_ns : int
        Load and a path together, of tasks that may choose their widths; 0 if none may.
    """

    path_ns: int
    load_ns: int
    window_ns: int
    width_ns: int = 0

    @property
    def makespan_ns(self) -> int:
        """The best of them."""
        return max(self.path_ns, self.load_ns, self.window_ns, self.width_ns)


class ContradictionError(RuntimeError):
    """A bound lies above a plan: one of the two is wrong, so nothing is proven."""


def check_bound(bound_ns: int, makespan_ns: int, whose: str) -> None:
    """Raise ContradictionError if a plan is shorter than any can be.

    Parameters
    ----------
    whose : str
        Who made the bound and the plan, for the message.
    """
    if bound_ns > makespan_ns:
        raise ContradictionError(
            f"{whose}: the lower bound of {bound_ns} ns is above a plan of {makespan_ns} ns,"
            " so one of them is wrong and nothing is proven"
        )


def lower_bounds(problem: Problem) -> Bounds:
    """Compute all bounds; milliseconds at 3000 tasks, a second at 100,000."""
    tables = bound_tables(problem)
    return Bounds(
        tables.path_ns(),
        load_bound_ns(problem, tables),
        window_bound_ns(problem, tables),
        width_bound_ns(problem, tables),
    )
