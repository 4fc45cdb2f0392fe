"""How a problem is written down for a solver: as an integer or as a constraint program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from surplus.milp.copies import CopyPair
from surplus.milp.decoded import Decoded
from surplus.milp.memory import MemoryRoom
from surplus.milp.reductions import Reduced
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Timeline
from surplus.placement.widths import is_moldable


class Formulation(Protocol):
    """A program that minimises the makespan."""

    @property
    def unit_ns(self) -> float:
        """Nanoseconds of one unit of the objective."""
        ...

    @property
    def tolerance_ns(self) -> float:
        """By how much a bound of the solver may be too high."""
        ...

    def write(self, folder: Path) -> Path:
        """Store the program for the solver's process; returns the file."""
        ...

    def start_values(self, placement: Placement, timeline: Timeline) -> dict[str, float]:
        """A known schedule within the upper bound, by variable name."""
        ...

    def decode(self, values: Mapping[str, float]) -> Decoded:
        """The schedule of an answer; variables that are absent are 0."""
        ...


CONSTRAINT_TASKS_MAX = 1_000
"""Tasks of a constraint program: of more, solvers find in a minute neither plans nor bounds."""

_PAIR_S = 2e-5
"""What an integer program takes to be written down for each pair of tasks."""

_WRITING_SHARE = 0.5


def size_fault(solver: str, problem: Problem, left_s: float) -> str | None:
    """Why a solver cannot be asked about a problem in the time that is left; None if it can."""
    count = len(problem.tasks)
    if solver != "cpsat" and is_moldable(problem):
        name = next(task.name for task in problem.tasks if any(task.wider_ns))
        return f"task {name!r} has several widths: {solver}'s program has one, that of cpsat all"
    if solver == "cpsat":
        if count <= CONSTRAINT_TASKS_MAX:
            return None
        return f"{count} tasks in one program: above {CONSTRAINT_TASKS_MAX} it is not tried"
    if _PAIR_S * count**2 <= _WRITING_SHARE * left_s:
        return None
    return f"an integer program of {count} tasks cannot be written down in {left_s:.1f} s"


def formulate(
    solver: str,
    problem: Problem,
    reduced: Reduced,
    copy_pairs: Iterable[CopyPair],
    room: MemoryRoom = MemoryRoom.NEEDED,
    lower_ns: int = 0,
) -> Formulation:
    """Write a problem down for a solver.

    Parameters
    ----------
    copy_pairs : iterable of CopyPair
        Copies that must not hold their link at once. An integer program lets the others
        overlap, a constraint program lets none.
    room : MemoryRoom
        What has to fit into a memory at once.
    lower_ns : int
        No schedule is shorter, which CP-SAT begins with.
    """
    # The modelling layer of integer programs is an optional dependency.
    if solver == "cpsat":
        from surplus.milp.cpsat.formulation import CpFormulation

        return CpFormulation(problem, reduced, room, lower_ns)
    from surplus.milp.mip.formulation import MipFormulation

    return MipFormulation(problem, reduced, copy_pairs, room)
