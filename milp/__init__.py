"""Proven optima and lower bounds of placement problems, by mixed integer programming."""

from milp.errors import SolverUnavailableError
from milp.params import Progress, SolveParams
from milp.result import Result, Status
from milp.solve import solve

__all__ = ["Progress", "Result", "SolveParams", "SolverUnavailableError", "Status", "solve"]
