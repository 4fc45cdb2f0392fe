"""Makes a long plan shorter by asking a solver about one stretch of it after the other.

References
----------
Shaw: Using constraint programming and local search methods to solve vehicle routing problems, CP
1998. Departures: what is freed is what follows one another in the plan's order, around the
longest way through it, since nothing else makes the plan shorter; and what is after the stretch is
not fixed in time but in its distance from the end (cutting.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from surplus.milp.deadline import Deadline
from surplus.milp.left_out import is_planned_exactly
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import GRACE_S, AskSolver
from surplus.milp.standing import Standing
from surplus.milp.stretches.cutting import StretchCut
from surplus.milp.stretches.orders import PlannedOrders
from surplus.placement.problem import Problem

SIZES = (20, 40, 80)
"""Tasks of a stretch: longer ones once shorter ones make the plan no shorter."""

TASKS_MAX = 20_000
"""Above this the plan's orders alone take as long as a solver."""

_TASK_S = 0.05
"""What a solver may take for each task."""

_LEAST_S = 0.2
"""In less no solver begins."""

_GAP = 1e-7

_LIMIT_SHARE = 0.8
"""Of the time that is left; in the rest a solver's process starts and stops."""


@dataclass(frozen=True)
class StretchParams:
    """How stretches are asked about.

    Parameters
    ----------
    ask : AskSolver
        Runs the solver.
    threads : int
        Of each question, >= 1.
    memory_bytes : int
        What the solver's process may hold; 0 is no limit.
    """

    ask: AskSolver
    threads: int = 1
    memory_bytes: int = 0


def has_stretches(solver: str, problem: Problem) -> bool:
    """Whether to ask about any: CP-SAT, where nothing waits but for lanes, links and data."""
    return solver == "cpsat" and len(problem.tasks) <= TASKS_MAX and is_planned_exactly(problem)


class StretchSearch:
    """Improves the best plan of a standing.

    Parameters
    ----------
    problem : Problem
        One that ``has_stretches``.
    standing : Standing
        Has a plan; takes those that are shorter.
    """

    def __init__(self, problem: Problem, standing: Standing, params: StretchParams) -> None:
        self._problem = problem
        self._standing = standing
        self._params = params
        self._orders: PlannedOrders | None = None
        self._overhead_s = _LEAST_S
        self._failed = False

    def improve(self, deadline: Deadline) -> None:
        """Until a deadline, or until no stretch of any size makes the plan shorter."""
        with TemporaryDirectory(prefix="milp-") as folder:
            for size in SIZES:
                while self._sweep(size, deadline, Path(folder)):
                    pass

    def _sweep(self, size: int, deadline: Deadline, folder: Path) -> bool:
        """All stretches of one size, each half over the one before; whether that gained."""
        before, done = self._standing.best, 0
        while not self._is_over(deadline):
            cut = self._next(done, size)
            if cut is not None and cut.floor_ns < cut.orders.found.makespan_ns:
                self._ask(cut, deadline, folder)
            if cut is None or cut.end == len(self._problem.tasks):
                return self._standing.best is not before
            done = cut.first + size // 2
        return False

    def _is_over(self, deadline: Deadline) -> bool:
        late = deadline.left_s <= 2 * self._overhead_s
        return late or self._failed or self._standing.proven()

    def _next(self, done: int, size: int) -> StretchCut | None:
        """The stretch around the first task at or after a place on a longest way, if any."""
        best = self._standing.best
        assert best is not None
        if self._orders is None or self._orders.found is not best:
            self._orders = PlannedOrders(self._problem, best)
        orders, count = self._orders, len(self._problem.tasks)
        for place in range(done, count):
            task = orders.order[place]
            if orders.spans[task].start_ns + orders.rest_ns[task] == best.makespan_ns:
                first = max(0, min(max(done, place - size // 4), count - size))
                return StretchCut(orders, first, min(first + size, count))
        return None

    def _ask(self, cut: StretchCut, deadline: Deadline, folder: Path) -> None:
        began_s = deadline.left_s
        path = folder / "stretch.json"
        path.write_text(cut.stretch().to_json(), encoding="utf-8")
        start = cut.start_values()
        asked_s = deadline.left_s
        left_s = asked_s - self._overhead_s
        if left_s <= 0:
            return
        limit_s = min(_TASK_S * len(cut.tasks), _LIMIT_SHARE * left_s)
        report = self._solved(path, start, limit_s, min(GRACE_S, left_s - limit_s))
        answered_s = deadline.left_s
        self._failed = report.status is SolverStatus.FAILED
        if report.values:
            self._standing.offer(cut.put_back(report.values))
        own_s = began_s - asked_s + answered_s - deadline.left_s
        self._overhead_s = max(self._overhead_s, own_s)

    def _solved(
        self, path: Path, start: dict[str, float], limit_s: float, grace_s: float
    ) -> SolverReport:
        job = SolverJob(
            solver="cpsat_stretch",
            model_path=str(path),
            start=start,
            time_limit_s=limit_s,
            gap=_GAP,
            threads=self._params.threads,
            memory_bytes=self._params.memory_bytes,
        )
        return self._params.ask(job, lambda state: None, grace_s=grace_s)
