"""The search on one problem: incumbent, bound, and a solver that is asked to close the gap."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from surplus.milp.copies import CopyPair, overlaps
from surplus.milp.decoded import Decoded
from surplus.milp.formulation import Formulation, formulate
from surplus.milp.incumbent import Incumbent, best_of, fits_memory, known_incumbents, make_incumbent
from surplus.milp.left_out import left_out
from surplus.milp.memory import MemoryRoom
from surplus.milp.params import Listener, Progress, SolveParams
from surplus.milp.reductions import reduce_problem
from surplus.milp.result import Result, Status
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import GRACE_S, run_job
from surplus.milp.windows import eligible_devices, time_windows
from surplus.placement import Problem, check_bound, lower_bounds
from surplus.placement.fit_memory import least_bytes
from surplus.placement.memory import binding_capacities
from surplus.placement.memory_words import bytes_in_words

PROVEN_GAP = 2e-6
"""Relative gap that counts as none: twice what the bounds of integer programs are lowered by for
the tolerances of their solvers."""

SOLVER_GAP = 1e-7
"""Relative gap at which a solver stops where the caller asked for none."""


_BOUND_SHARE = 0.7
"""Share of the time for the bound where memory is short; the rest is for a plan that fits."""


_GRACE_SHARE = 0.2
"""Of the time that is left, what a solver may take to stop: not every one keeps to its limit."""


class Search:
    """The incumbent, the bound and how they came about.

    Attributes
    ----------
    ends_s : float
        When its time is over, known plans and formulations included; on ``time.monotonic``'s clock.
    message : str
        The solver's last words: why there is no proof, if there is none.
    proof : str
        Why the plan is optimal, if it is.
    """

    def __init__(
        self, problem: Problem, params: SolveParams, listener: Listener = lambda progress: None
    ) -> None:
        self._problem = problem
        self._params = params
        self._listener = listener
        self._began_s = monotonic()
        self.ends_s = self._began_s + params.time_limit_s
        self._best = best_of(known_incumbents(problem, params.warm_start))
        self._bound_ns = combinatorial_bound_ns(problem)
        self._left_out = left_out(problem)
        self._infeasible = False
        self.message = "not asked"
        self.proof = "a known plan meets the lower bound"

    def run(self) -> None:
        """Ask the solver, unless the best known plan is good enough.

        Where memory is short it is asked twice: for a bound that holds for all plans that fit,
        then, if no known plan meets it, for a plan that fits in any order.
        """
        self._tell()
        left_s = self.ends_s - monotonic()
        short = bool(binding_capacities(self._problem))
        spared_s = left_s * (1 - _BOUND_SHARE) if short else 0
        self._close(MemoryRoom.NEEDED, self.ends_s - spared_s)
        if short and not self._infeasible:
            self._close(MemoryRoom.SAFE, self.ends_s)

    def _close(self, room: MemoryRoom, deadline_s: float) -> None:
        """Copies that hold a link at once in an answer are told to queue, until none are left."""
        copy_pairs: frozenset[CopyPair] = frozenset()
        with TemporaryDirectory(prefix="milp-") as folder:
            while not self.proven() and monotonic() < deadline_s:
                found = self._ask(Path(folder), copy_pairs, deadline_s, room)
                if found <= copy_pairs:
                    return
                copy_pairs |= found

    def result(self) -> Result:
        """What is known now."""
        best, status = self._best, self._status()
        return Result(
            status=status,
            makespan_ns=best.makespan_ns if best else None,
            bound_ns=self._bound_ns,
            gap=self._gap(),
            runtime_s=monotonic() - self._began_s,
            placement=best.placement if best else None,
            timeline=best.timeline if best else None,
            dispatched_ns=best.dispatched_ns if best else None,
            solver=self._params.solver,
            message=self._message(status),
            left_out=self._left_out,
        )

    def _message(self, status: Status) -> str:
        """What happened, and what no proof of the solver counts."""
        words = self.proof if status is Status.OPTIMAL else self.message
        if not self._left_out:
            return words
        return f"{words}; the model leaves out {', '.join(self._left_out)}: its bound holds with it"

    def _ask(
        self, folder: Path, copy_pairs: frozenset[CopyPair], deadline_s: float, room: MemoryRoom
    ) -> frozenset[CopyPair]:
        """Solve once; returns the copies that overlap in the answer."""
        best = self._best
        upper_ns = best.makespan_ns if best else horizon_ns(self._problem)
        reduced = reduce_problem(self._problem, upper_ns)
        model = formulate(self._params.solver, self._problem, reduced, copy_pairs, room)
        path = model.write(folder)
        start = model.start_values(best.placement, best.timeline) if best else {}
        left_s = deadline_s - monotonic()
        if left_s <= 0:
            self.message = "the time was over before the solver could be asked"
            return frozenset()
        grace_s = min(GRACE_S, _GRACE_SHARE * left_s)
        job = self._job(path, start, left_s - grace_s)
        proves = room is MemoryRoom.NEEDED
        report = run_job(
            job,
            lambda state: self._learn(state, model) if proves else self._tell(),
            grace_s=grace_s,
        )
        self.message, self.proof = self._words(report), f"proven by {self._params.solver}"
        if report.status is SolverStatus.INFEASIBLE:
            if proves:
                self._no_plan(upper_ns)
            else:
                self.message = "no shorter plan fits into the memories in any order"
            return frozenset()
        if proves:
            self._learn(report, model)
        decoded = model.decode(report.values) if report.values else None
        if decoded is not None:
            self._take(decoded)
        self._check()
        if decoded is None or report.status is not SolverStatus.OPTIMAL:
            return frozenset()
        return overlaps(self._problem, decoded.copy_starts_ns)

    def _words(self, report: SolverReport) -> str:
        """Why there is no proof: that a solver proved its model is none of the plan."""
        if report.status is not SolverStatus.OPTIMAL:
            return report.message
        return f"{self._params.solver} solved its model, but no plan as short as that is known"

    def _job(self, path: Path, start: dict[str, float], time_limit_s: float) -> SolverJob:
        return SolverJob(
            solver=self._params.solver,
            model_path=str(path),
            start=start,
            time_limit_s=time_limit_s,
            gap=max(self._params.gap, SOLVER_GAP),
            threads=self._params.threads,
        )

    def offer(self, found: Incumbent) -> None:
        """Keep a plan if it is better than what is known."""
        self._best = best_of([*([self._best] if self._best else []), found])

    def raise_bound(self, bound_ns: int) -> None:
        """Take note of a lower bound that was proven."""
        self._bound_ns = max(self._bound_ns, bound_ns)
        self._check()
        self._tell()

    def _take(self, decoded: Decoded) -> None:
        """Keep a solver's answer if it is better than what is known."""
        devices, origin = decoded.device_of, self._params.solver
        copies = decoded.copy_starts_ns
        found = make_incumbent(self._problem, devices, decoded.starts_ns, origin, copies)
        if fits_memory(self._problem, found.placement, found.timeline):
            self.offer(found)

    def _learn(self, report: SolverReport, model: Formulation) -> None:
        if report.bound is not None:
            bound_ns = report.bound * model.unit_ns - model.tolerance_ns
            self._bound_ns = max(self._bound_ns, math.ceil(bound_ns))
        self._tell()

    def _check(self) -> None:
        """A bound above a plan is a fault; fail instead of hiding it in the gap."""
        if self._best is not None:
            whose = f"{self._problem.name}, {self._params.solver}"
            check_bound(self._bound_ns, self._best.makespan_ns, whose)

    def _no_plan(self, upper_ns: int) -> None:
        if self._best is None:
            self._infeasible = True
            self.message = (
                "what the tasks need does not fit into the memories: constants, and the data of"
                f" one task at a time; {self._least_in_words()}"
            )
        else:
            self.message = (
                f"the solver denies that a plan of {upper_ns} ns exists, but there is one: a"
                " fault of solver or model"
            )

    def _least_in_words(self) -> str:
        return ", ".join(
            f"{memory!r} has {bytes_in_words(limit)}, tasks that run only there need at least"
            f" {bytes_in_words(least_bytes(self._problem, memory))}"
            for memory, limit in sorted(binding_capacities(self._problem).items())
        )

    def _status(self) -> Status:
        if self._best is None:
            return Status.INFEASIBLE if self._infeasible else Status.BOUND_ONLY
        return Status.OPTIMAL if self.proven() else Status.FEASIBLE

    def proven(self) -> bool:
        """Whether the best plan is within the gap that was asked for.

        Raises
        ------
        ContradictionError
            If the bound is above the plan.
        """
        gap = self._gap()
        return gap is not None and gap <= max(self._params.gap, PROVEN_GAP)

    def _gap(self) -> float | None:
        if self._best is None:
            return None
        self._check()
        makespan_ns = self._best.makespan_ns
        return (makespan_ns - self._bound_ns) / makespan_ns if makespan_ns else 0.0

    def _tell(self) -> None:
        makespan_ns = self._best.makespan_ns if self._best else None
        self._listener(Progress(monotonic() - self._began_s, makespan_ns, self._bound_ns))


def combinatorial_bound_ns(problem: Problem) -> int:
    """Best bound without a solver: paths, loads, and heads + time + tails."""
    windows = time_windows(problem, eligible_devices(problem))
    through = (
        min(windows.through_ns(problem, task, d) for d in choices)
        for task, choices in enumerate(windows.devices)
    )
    return max(lower_bounds(problem).makespan_ns, max(through, default=0))


def horizon_ns(problem: Problem) -> int:
    """A makespan that some schedule of any placement meets: everything one after the other."""
    work = sum(max(t for t in row if t is not None) for row in problem.least_service_ns)
    copies = sum(
        max(link.copy_ns(tensor.size_bytes) for link in problem.links)
        * len({device.memory for device in problem.devices})
        for tensor in problem.tensors
        if tensor.size_bytes and problem.links
    )
    return work + copies
