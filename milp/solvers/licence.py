"""Gurobi's licence errors in plain words; needs no gurobipy."""

from __future__ import annotations

NO_LICENCE = 10009
SIZE_LIMIT = 10010


def explain_gurobi_error(errno: int, message: str) -> str:
    """One line for a user, from ``GurobiError.errno`` and its text."""
    if errno == SIZE_LIMIT:
        return (
            "this program is too large for Gurobi's free licence (2000 variables, 2000"
            " constraints); get a full licence or use the solver 'highs'"
        )
    if errno == NO_LICENCE:
        return f"Gurobi has no valid licence here ({message}); get one or use the solver 'highs'"
    return f"Gurobi failed with error {errno}: {message}"
