"""The solvers: one file each, loaded by name inside a process of its own.

Solvers' libraries must not meet in one process (those of ortools and highspy crash), and a
crash of theirs must not take the caller along; see ``surplus.milp.solvers.process``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.solvers.job import SolverJob, SolverReport

Report = Callable[[SolverReport], None]

REQUIRED_MODULES = {
    "cpsat": ("ortools",),
    "highs": ("pulp", "highspy"),
    "cbc": ("pulp",),
    "gurobi": ("pulp", "gurobipy"),
}
"""The modules that each solver needs; the keys are the solvers' names."""

AUTO = "auto"
"""CP-SAT, or HiGHS where that is not installed."""

_INSTALL = {"gurobi": "pip install gurobipy"}


class Solver(Protocol):
    """A solver's module."""

    def run(self, job: SolverJob, report: Report) -> SolverReport:
        """Solve within the job's limits; may report better bounds and points on the way.

        Runs in the solver's own process. Raises SolverUnavailableError if the solver cannot
        be used here.
        """
        ...


def solver_names() -> list[str]:
    """What may be asked for, the default first."""
    return [AUTO, *REQUIRED_MODULES]


def choose_solver(name: str) -> str:
    """The solver that a name stands for, which is installed then.

    Raises
    ------
    ValueError
        If there is no such solver.
    SolverUnavailableError
        If a package is missing.
    """
    if name == AUTO:
        name = "highs" if _missing_module("cpsat") else "cpsat"
    require_solver(name)
    return name


def require_solver(name: str) -> None:
    """Check that a solver and the modelling layer are installed, without loading them.

    Raises
    ------
    ValueError
        If there is no such solver.
    SolverUnavailableError
        If a package is missing; the message says which and how to install it.
    """
    if name not in REQUIRED_MODULES:
        raise ValueError(f"unknown solver {name!r}; there are: {', '.join(solver_names())}")
    module = _missing_module(name)
    if module is not None:
        command = _INSTALL.get(module.removesuffix("py"), "pip install 'surplus-engine[solvers]'")
        raise SolverUnavailableError(
            f"solver {name!r} needs the package {module!r}, which is not installed ({command})"
        )


def _missing_module(name: str) -> str | None:
    return next((m for m in REQUIRED_MODULES[name] if find_spec(m) is None), None)


def load_solver(name: str) -> Solver:
    """Import a solver; only in the process that will run it."""
    return cast(Solver, import_module(f"surplus.milp.solvers.{name}"))
