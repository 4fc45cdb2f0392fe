"""The linear relaxation of the least load: a bound, prices of the resources, tasks in fractions.

Placed in fractions, many small tasks fill lanes and links to the last nanosecond, and of whole ones
nearly as much fits. So the relaxation is close, and whom it cuts in pieces are a few: as many as
resources are full at most, where two devices share the tasks. Its prices say what a nanosecond
of each resource is worth, of links and submitting threads, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from surplus.milp.throughput.model import LoadModel
from surplus.milp.throughput.rows import LinearRow, proven_bound, rows_of

_MS_PER_S = 1_000


@dataclass(frozen=True)
class Relaxation:
    """What the relaxation of one problem says.

    Parameters
    ----------
    bound_ns : int
        No placement's load is less.
    shares : tuple of mapping of int to float
        By task: how much of it is on each device, in [0, 1].
    prices : mapping of str to float
        Of a nanosecond of each resource's occupancy (``placement/occupancy.py``); their sum is 1.
    """

    bound_ns: int
    shares: tuple[Mapping[int, float], ...]
    prices: Mapping[str, float]

    def device_of(self) -> list[int]:
        """Each task where most of it is."""
        return [max(row, key=lambda d: row[d]) for row in self.shares]


def relaxation(model: LoadModel, limit_s: float) -> Relaxation | None:
    """Solve the relaxation of a program; None if the time is not enough.

    Parameters
    ----------
    limit_s : float
        Wall-clock limit, > 0.
    """
    rows, load = rows_of(model.program), model.load.index
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetTimeLimit(max(1, round(limit_s * _MS_PER_S)))
    columns = [solver.NumVar(0.0, 1.0, "") for _ in model.program.proto.variables]
    columns[load].SetUb(solver.infinity())
    constraints = [_constraint(solver, columns, row) for row in rows]
    solver.Minimize(columns[load])
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return None
    duals = [float(constraint.dual_value()) for constraint in constraints]
    shares = tuple(
        {d: float(columns[variable.index].solution_value()) for d, variable in row.items()}
        for row in model.placed
    )
    return Relaxation(proven_bound(rows, duals, load), shares, _prices(model, rows, duals))


def _constraint(
    solver: pywraplp.Solver, columns: Sequence[pywraplp.Variable], row: LinearRow
) -> pywraplp.Constraint:
    endless = solver.infinity()
    constraint = solver.Constraint(
        -endless if row.least is None else row.least, endless if row.most is None else row.most
    )
    for column, coefficient in row.terms:
        constraint.SetCoefficient(columns[column], coefficient)
    return constraint


def _prices(
    model: LoadModel, rows: Sequence[LinearRow], duals: Sequence[float]
) -> dict[str, float]:
    """Of the rows that the load is in: each is of one resource, in the order of their making."""
    load = model.load.index
    of_load = [
        dual * coefficient
        for row, dual in zip(rows, duals, strict=True)
        for column, coefficient in row.terms
        if column == load
    ]
    return dict(zip(model.resources, of_load, strict=True))
