"""Finds the placement with the least load of the busiest resource, and proves how good it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.params import Progress, SolveParams
from surplus.milp.result import Status
from surplus.milp.solvers import require_solver
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import run_job
from surplus.milp.standing import PROVEN_GAP
from surplus.milp.throughput.answers import Values, devices_of, values_of
from surplus.milp.throughput.result import ThroughputResult
from surplus.placement import InfeasibleError, Placement, Problem, check_bound, make_policy
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.occupancy import busiest_of, occupancy_ns
from surplus.placement.ordering import planned
from surplus.placement.periodic import PeriodicSchedule, periodic_schedule
from surplus.placement.periodic_check import check_periodic
from surplus.placement.throughput_front import throughput_front
from surplus.placement.widths import is_moldable, least_work

_SOLVER, _PROGRAM = "cpsat", "cpsat_load"
"""Who must be installed, and its module for the program of the least load."""

_STARTS = ("balance", "best")

_SCHEDULE_SHARE = 0.2
"""Of the time: for the periodic schedule."""


def solve_throughput(
    problem: Problem,
    params: SolveParams | None = None,
    listener: Callable[[Progress], None] = lambda progress: None,
    *,
    front: bool = False,
) -> ThroughputResult:
    """Minimise what the busiest resource does for one query.

    Parameters
    ----------
    params : SolveParams, optional
        Solver: ``auto`` or ``cpsat``. A warm start is one more placement to begin with.
    listener : callable
        Told of loads and bounds; where it says makespan it means load.
    front : bool
        Whether to tell latency against throughput, too, of the placements that were compared.

    Raises
    ------
    SolverUnavailableError
        If CP-SAT is not installed, or another solver is asked for.
    InfeasibleError
        If no placement was found that the memories hold.
    ContradictionError
        If the bound is above a load: a fault of the model or of the solver.
    """
    params = params or SolveParams()
    if params.solver not in ("auto", _SOLVER):
        raise SolverUnavailableError(f"throughput is {_SOLVER}'s, not {params.solver}'s")
    require_solver(_SOLVER)
    if not is_moldable(problem):
        return _Search(problem, params, listener).result(front=front)
    # Of lanes the load knows only for how long they are held: one width is the best of all.
    thin, start = least_work(problem), params.warm_start
    if start is not None:
        params = replace(params, warm_start=replace(start, width_of=()))
    found = _Search(thin, params, listener).result(front=front)
    assert found.placement is not None, "a known placement is there to begin with"
    chosen = replace(found.placement, width_of=found.placement.widths(thin))
    return replace(found, placement=chosen)


class _Search:
    def __init__(
        self, problem: Problem, params: SolveParams, listener: Callable[[Progress], None]
    ) -> None:
        self._problem, self._params, self._listener = problem, params, listener
        self._began_s = monotonic()
        self._bound_ns = load_bound_ns(problem)
        self._placements = list(self._known())
        self._best = min(self._placements, key=self._load_ns)
        self._schedules: dict[Placement, PeriodicSchedule] = {}
        self._message = "a known placement meets the bound"

    def result(self, *, front: bool) -> ThroughputResult:
        """Ask the solver, unless there is nothing to ask, and make a schedule of what is best."""
        self._tell()
        if not self._is_proven():
            self._ask()
        load_ns = self._load_ns(self._best)
        schedule = self._schedule()
        return ThroughputResult(
            status=Status.OPTIMAL if self._is_proven() else Status.FEASIBLE,
            load_ns=load_ns,
            bound_ns=self._bound_ns,
            gap=self._gap(),
            occupancy_ns=occupancy_ns(self._problem, self._best),
            placement=self._best,
            schedule=schedule,
            runtime_s=monotonic() - self._began_s,
            message=self._message,
            front=tuple(throughput_front(self._problem, self._placements)) if front else (),
        )

    def _known(self) -> Iterator[Placement]:
        yield from [self._params.warm_start] if self._params.warm_start else []
        for name in _STARTS:
            yield make_policy(name).place(self._problem)

    def _ask(self) -> None:
        with TemporaryDirectory(prefix="milp-") as folder:
            path = Path(folder) / "problem.json"
            path.write_text(self._problem.to_json(), encoding="utf-8")
            spent_s = monotonic() - self._began_s
            left_s = (1 - _SCHEDULE_SHARE) * self._params.time_limit_s - spent_s
            if left_s <= 0:
                self._message = "the time was over before the solver could be asked"
                return
            job = SolverJob(
                solver=_PROGRAM,
                model_path=str(path),
                start=values_of(self._best.device_of),
                time_limit_s=left_s,
                gap=self._params.gap,
                threads=self._params.threads,
                memory_bytes=MemoryLimit(self._params.memory_bytes).share_bytes(1.0),
            )
            report = run_job(job, self._learn)
        self._learn(report)
        self._message = report.message
        if report.status is SolverStatus.OPTIMAL:
            self._message = f"{_SOLVER} solved its model, but no placement of that load is known"
        if report.values:
            self._take(report.values)
        if self._is_proven():
            self._message = f"proven by {_SOLVER}"

    def _take(self, values: Values) -> None:
        """Keep an answer that is better and that the memories hold, data of a query included."""
        found = planned(self._problem, devices_of(self._problem, values), "throughput")
        try:
            self._schedules[found] = periodic_schedule(self._problem, found)
        except InfeasibleError:
            self._message = "the least load's data does not fit into the memories"
            return
        self._placements.append(found)
        self._best = min(self._best, found, key=self._load_ns)

    def _schedule(self) -> PeriodicSchedule:
        schedule = self._schedules.get(self._best)
        if schedule is None:
            schedule = periodic_schedule(self._problem, self._best)
        if not any(device.slowdown for device in self._problem.devices):
            # Where lanes slow each other the first queries, beside which there are few, are faster.
            check_periodic(self._problem, self._best, schedule)
        return schedule

    def _load_ns(self, placement: Placement) -> int:
        return busiest_of(self._problem, placement)[1]

    def _learn(self, report: SolverReport) -> None:
        if report.bound is not None:
            self._bound_ns = max(self._bound_ns, math.ceil(report.bound - 1e-6))
        self._tell()

    def _gap(self) -> float:
        load_ns = self._load_ns(self._best)
        check_bound(self._bound_ns, load_ns, f"{self._problem.name}, load")
        return (load_ns - self._bound_ns) / load_ns if load_ns else 0.0

    def _is_proven(self) -> bool:
        return self._gap() <= max(self._params.gap, PROVEN_GAP)

    def _tell(self) -> None:
        elapsed_s = monotonic() - self._began_s
        self._listener(Progress(elapsed_s, self._load_ns(self._best), self._bound_ns))
