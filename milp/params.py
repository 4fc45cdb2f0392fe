"""How to search, and how a search tells where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surplus.placement import Placement


@dataclass(frozen=True)
class SolveParams:
    """How to search.

    Parameters
    ----------
    solver : str
        ``cpsat``, ``highs``, ``cbc``, ``gurobi``, or ``auto``: CP-SAT where it is installed,
        which proved detectors of 30 tasks where HiGHS left 0.3 % open after a minute
        (bench/models/optimum.py), else HiGHS.
    time_limit_s : float
        Wall-clock limit of the whole search, > 0, preparation included.
    warm_start : Placement or None
        A plan to start from, beside those of all policies.
    gap : float
        Relative gap that is good enough, in [0, 1).
    threads : int
        Threads of all solvers together, >= 1: blocks are solved side by side on them.
    memory_bytes : int or None
        What this process and those of its solvers may hold together, >= 1; None is no limit. What
        there is no room for is left out, which the result says; a solver that takes more is ended.
    """

    solver: str = "auto"
    time_limit_s: float = 60.0
    warm_start: Placement | None = None
    gap: float = 0.0
    threads: int = 2
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        if not self.time_limit_s > 0:
            raise ValueError(f"time_limit_s must be > 0, got {self.time_limit_s}")
        if not 0 <= self.gap < 1:
            raise ValueError(f"gap must be in [0, 1), got {self.gap}")
        if self.threads < 1:
            raise ValueError(f"threads must be >= 1, got {self.threads}")
        if self.memory_bytes is not None and self.memory_bytes < 1:
            raise ValueError(f"memory_bytes must be >= 1, got {self.memory_bytes}")


@dataclass(frozen=True)
class Progress:
    """Where the search stands.

    Parameters
    ----------
    elapsed_s : float
        Seconds since it began.
    makespan_ns : int or None
        Length of the best plan.
    bound_ns : int
        No plan is shorter.
    """

    elapsed_s: float
    makespan_ns: int | None
    bound_ns: int

    @property
    def at(self) -> tuple[int | None, int]:
        """Plan and bound, whenever that is."""
        return self.makespan_ns, self.bound_ns

    @property
    def gap(self) -> float | None:
        """``(makespan_ns - bound_ns) / makespan_ns``; None without a plan."""
        if self.makespan_ns is None:
            return None
        return (self.makespan_ns - self.bound_ns) / self.makespan_ns if self.makespan_ns else 0.0


Listener = Callable[[Progress], None]
