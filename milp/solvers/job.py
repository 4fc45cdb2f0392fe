"""What goes to a solver's process and what comes back, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

MANY = "--many"
"""Has a solver's process do job after job."""


class SolverStatus(StrEnum):
    """How a solver ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    """Stopped with a solution but no proof."""
    UNSOLVED = "unsolved"
    """Stopped without a solution; there may be a bound."""
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    """Unavailable, crashed or killed; the message says why."""


@dataclass(frozen=True)
class SolverJob:
    """A program to solve.

    Parameters
    ----------
    solver : str
        Name of the solver.
    model_path : str
        The program, which minimises: MPS, or for CP-SAT an ``Instance`` in JSON.
    start : mapping of str to float
        A feasible point by variable name; continuous variables may be absent. May be empty.
    time_limit_s : float
        Wall-clock limit, > 0.
    gap : float
        Relative gap at which the solver may stop, >= 0.
    threads : int
        Threads that it may use, >= 1.
    memory_bytes : int
        What its process may hold before it is killed; 0 is no limit.
    climbs : bool
        Whether to raise the bound alone, if it can: where plans are as good as they get.
    """

    solver: str
    model_path: str
    start: Mapping[str, float]
    time_limit_s: float
    gap: float
    threads: int
    memory_bytes: int = 0
    climbs: bool = False

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> SolverJob:
        """Read a job."""
        return SolverJob(**json.loads(text))


@dataclass(frozen=True)
class SolverReport:
    """What a solver knows, on its way or at its end, in the program's own units.

    Parameters
    ----------
    status : SolverStatus
        How it stands.
    bound : float or None
        Proven lower bound of the objective.
    objective : float or None
        Value of the best point.
    values : mapping of str to float
        The best point, by variable name; absent variables are 0. Empty if there is none.
    message : str
        The solver's own words, or what went wrong.
    """

    status: SolverStatus
    bound: float | None = None
    objective: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    message: str = ""

    def to_json(self) -> str:
        """Serialise on one line; the inverse of ``from_json``."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> SolverReport:
        """Read a report."""
        raw = json.loads(text)
        return SolverReport(**{**raw, "status": SolverStatus(raw["status"])})
