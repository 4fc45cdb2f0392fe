"""Proven optima and lower bounds of placement problems, by mixed integer programming."""

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.params import Progress, SolveParams
from surplus.milp.result import Result, Status
from surplus.milp.solve import solve

__all__ = ["Progress", "Result", "SolveParams", "SolverUnavailableError", "Status", "solve"]
