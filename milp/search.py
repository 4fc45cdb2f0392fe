"""The search on one problem: a solver that is asked to close the gap of incumbent and bound."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from surplus.milp.bounds import bound_of_windows_ns, combinatorial_bound_ns, horizon_ns
from surplus.milp.copies import CopyPair, overlaps
from surplus.milp.deadline import Deadline
from surplus.milp.decoded import Decoded
from surplus.milp.executable import executable
from surplus.milp.footprint import bounds_bytes, program_bytes
from surplus.milp.formulation import Formulation, formulate, size_fault
from surplus.milp.granularity import granularity_ns
from surplus.milp.incumbent import Incumbent, best_of, fits_memory, make_incumbent
from surplus.milp.left_out import left_out
from surplus.milp.memory import MemoryRoom, least_in_words
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.params import Listener, SolveParams
from surplus.milp.plan_search import PlanSearch
from surplus.milp.reductions import fix_devices, reduce_problem
from surplus.milp.result import Result, Status
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import GRACE_S, AskSolver, run_job
from surplus.milp.standing import Standing
from surplus.milp.starts import known_incumbents
from surplus.placement import Problem, lower_bounds
from surplus.placement.memory import binding_capacities

SOLVER_GAP = 1e-7
"""Relative gap at which a solver stops where the caller asked for none."""

_BOUND_SHARE = 0.7
"""Share of the time for the bound where memory is short; the rest is for a plan that fits."""

_GRACE_SHARE = 0.2
"""Of the time that is left, what a solver may take to stop: not every one keeps to its limit."""


class Search:
    """Asks a solver about one problem.

    Parameters
    ----------
    problem, params
        What is asked.
    listener : callable
        Told of each better plan and bound.
    ask : AskSolver, optional
        Who runs the solver; without one each job has a process of its own.

    Attributes
    ----------
    deadline : Deadline
        When its time is over, known plans and formulations included.
    standing : Standing
        The best plan and bound.
    message : str
        The solver's last words: why there is no proof, if there is none.
    proof : str
        Why the plan is optimal, if it is.
    """

    def __init__(
        self,
        problem: Problem,
        params: SolveParams,
        listener: Listener = lambda progress: None,
        ask: AskSolver | None = None,
    ) -> None:
        self._problem = problem
        self._params = params
        self._asks = ask or run_job
        self.deadline = Deadline.after(params.time_limit_s)
        whose = f"{problem.name}, {params.solver}"
        grain_ns = granularity_ns(problem)
        self.standing = Standing(whose, params.gap, self.deadline, listener, grain_ns)
        self.memory = MemoryLimit(params.memory_bytes)
        self._left_out = left_out(problem)
        self._no_room: list[str] = []
        self._infeasible = False
        self._climbs = False
        self._copy_pairs: frozenset[CopyPair] = frozenset()
        self._plans = PlanSearch(problem, params, self.standing, self.memory, self.has_room, ask)
        self.message = "not asked"
        self.proof = "a known plan meets the lower bound"

    def prepare(self) -> None:
        """Look at known plans and at what bounds can be had without a solver."""
        has_room = self.has_room("windows of tasks", bounds_bytes(self._problem))
        self.standing.raise_bound(lower_bounds(self._problem).makespan_ns)
        if has_room:
            self.standing.raise_bound(combinatorial_bound_ns(self._problem))
        start = self._params.warm_start
        known = known_incumbents(self._problem, start, self.deadline, self.memory)
        self.offer(best_of(known))
        if not has_room or self.standing.best is None:
            return
        if not self.proven() and not self.deadline.is_over:
            windows = fix_devices(self._problem, self.standing.best.makespan_ns)
            self.standing.raise_bound(bound_of_windows_ns(self._problem, windows))

    def run(
        self,
        deadline: Deadline | None = None,
        threads: int | None = None,
        *,
        climbs: bool = False,
    ) -> None:
        """Ask the solver, unless the best known plan is good enough.

        Where memory is short it is asked twice: for a bound that holds for all plans that fit,
        then, if no known plan meets it, for a plan that fits in any order.

        Parameters
        ----------
        deadline : Deadline, optional
            An earlier one, after which it may be asked again.
        threads : int, optional
            Fewer threads.
        climbs : bool
            Whether the solver is to raise the bound alone, if it can.
        """
        self._climbs = climbs
        deadline, threads = deadline or self.deadline, threads or self._params.threads
        short = bool(binding_capacities(self._problem))
        self._plans.improve(deadline, threads, is_all=self.is_too_large(deadline))
        first = deadline.part(_BOUND_SHARE) if short else deadline
        self._close(MemoryRoom.NEEDED, first, threads)
        if short and not self._infeasible:
            self._close(MemoryRoom.SAFE, deadline, threads)

    def is_too_large(self, deadline: Deadline) -> bool:
        """Whether the solver cannot be asked, so that all of the time is for plans."""
        return size_fault(self._params.solver, self._problem, deadline.left_s) is not None

    def settle(self) -> None:
        """Find the holds with which a runtime executes the best plan."""
        if self.standing.best is not None:
            self.standing.settle(executable(self._problem, self.standing.best))

    def result(self) -> Result:
        """What is known now."""
        best, status = self.standing.best, self._status()
        return Result(
            status=status,
            makespan_ns=best.makespan_ns if best else None,
            bound_ns=self.standing.bound_ns,
            gap=self.standing.gap(),
            runtime_s=self.standing.elapsed_s,
            placement=best.placement if best else None,
            timeline=best.timeline if best else None,
            dispatched_ns=best.dispatched_ns if best else None,
            held_ns=best.held_ns if best else None,
            solver=self._params.solver,
            message=self._message(status),
            left_out=self._left_out,
            history=tuple(self.standing.history),
        )

    def has_room(self, what: str, needs_bytes: int) -> bool:
        """Whether there is memory for a step; if not, the result will say that it was left out."""
        fault = self.memory.fault(what, needs_bytes)
        if fault is not None and fault not in self._no_room:
            self._no_room.append(fault)
        return fault is None

    def proven(self) -> bool:
        """Whether the best plan is within the gap that was asked for."""
        return self.standing.proven()

    def _close(self, room: MemoryRoom, deadline: Deadline, threads: int) -> None:
        """Copies that hold a link at once in an answer are told to queue, until none are left."""
        with TemporaryDirectory(prefix="milp-") as folder:
            while not self.proven() and not deadline.is_over:
                found = self._ask(Path(folder), deadline, room, threads)
                if found <= self._copy_pairs:
                    return
                self._copy_pairs |= found

    def _ask(
        self, folder: Path, deadline: Deadline, room: MemoryRoom, threads: int
    ) -> frozenset[CopyPair]:
        """Solve once; returns the copies that overlap in the answer."""
        best, solver = self.standing.best, self._params.solver
        share = threads / self._params.threads
        needs_bytes = program_bytes(solver, self._problem, threads)
        fault = size_fault(solver, self._problem, deadline.left_s)
        fault = fault or self.memory.fault(f"{solver}'s program", needs_bytes, share)
        if fault:
            self.message = fault
            return frozenset()
        upper_ns = best.makespan_ns if best else horizon_ns(self._problem)
        reduced = reduce_problem(self._problem, upper_ns)
        # No plan is as short as the known one but in these windows, so what they say holds.
        self.standing.raise_bound(bound_of_windows_ns(self._problem, reduced.windows))
        if self.proven():
            return frozenset()
        known = (self._copy_pairs, room, self.standing.bound_ns)
        model = formulate(solver, self._problem, reduced, *known)
        path = model.write(folder)
        start = model.start_values(best.placement, best.timeline) if best else {}
        left_s = deadline.left_s
        if left_s <= 0:
            self.message = "the time was over before the solver could be asked"
            return frozenset()
        grace_s = min(GRACE_S, _GRACE_SHARE * left_s)
        job = SolverJob(
            solver=solver,
            model_path=str(path),
            start=start,
            time_limit_s=left_s - grace_s,
            gap=max(self._params.gap, SOLVER_GAP),
            threads=threads,
            memory_bytes=self.memory.share_bytes(share),
            climbs=self._climbs,
        )
        proves = room is MemoryRoom.NEEDED
        report = self._asks(job, lambda state: self._learn(state, model, proves), grace_s=grace_s)
        self.message, self.proof = self._words(report), f"proven by {solver}"
        if report.status is SolverStatus.INFEASIBLE:
            self._no_plan(upper_ns, proves)
            return frozenset()
        self._learn(report, model, proves)
        if not report.values or report.status is not SolverStatus.OPTIMAL:
            return frozenset()
        return overlaps(self._problem, model.decode(report.values).copy_starts_ns)

    def _words(self, report: SolverReport) -> str:
        """Why there is no proof: that a solver proved its model is none of the plan."""
        if report.status is not SolverStatus.OPTIMAL:
            return report.message
        return f"{self._params.solver} solved its model, but no plan as short as that is known"

    def _learn(self, report: SolverReport, model: Formulation, proves: bool) -> None:
        """Take a solver's plan, then its bound, on its way or at its end."""
        if report.values:
            self._take(model.decode(report.values))
        if proves and report.bound is not None:
            bound_ns = report.bound * model.unit_ns - model.tolerance_ns
            self.standing.raise_bound(math.ceil(bound_ns))

    def _take(self, decoded: Decoded) -> None:
        """Keep a solver's answer if it is better than what is known."""
        found = make_incumbent(
            self._problem,
            decoded.device_of,
            decoded.starts_ns,
            self._params.solver,
            decoded.copy_starts_ns,
            decoded.width_of,
        )
        if fits_memory(self._problem, found.placement, found.timeline):
            self.standing.offer(found)

    def offer(self, found: Incumbent | None) -> None:
        """Keep a plan if it is better than what is known."""
        self.standing.offer(found)

    def _message(self, status: Status) -> str:
        """What happened, and what no proof of the solver counts."""
        words = self.proof if status is Status.OPTIMAL else self.message
        words = "; left out: ".join([words, *self._no_room])
        if not self._left_out:
            return words
        return f"{words}; the model leaves out {', '.join(self._left_out)}: its bound holds with it"

    def _no_plan(self, upper_ns: int, proves: bool) -> None:
        if not proves:
            self.message = "no shorter plan fits into the memories in any order"
        elif self.standing.best is None:
            self._infeasible = True
            self.message = (
                "what the tasks need does not fit into the memories: constants, and the data of"
                f" one task at a time; {least_in_words(self._problem)}"
            )
        else:
            self.message = (
                f"the solver denies that a plan of {upper_ns} ns exists, but there is one: a"
                " fault of solver or model"
            )

    def _status(self) -> Status:
        if self.standing.best is None:
            return Status.INFEASIBLE if self._infeasible else Status.BOUND_ONLY
        return Status.OPTIMAL if self.proven() else Status.FEASIBLE
