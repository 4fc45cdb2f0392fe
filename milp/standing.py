"""Where a search stands: one best plan, one bound, and how both came about over time."""

from __future__ import annotations

from surplus.milp.deadline import Deadline
from surplus.milp.granularity import rounded_up
from surplus.milp.incumbent import Incumbent, best_of
from surplus.milp.params import Listener, Progress
from surplus.placement import check_bound

PROVEN_GAP = 2e-6
"""Relative gap that counts as none: twice what the bounds of integer programs are lowered by for
the tolerances of their solvers."""


class Standing:
    """The incumbent and the bound of one problem, which all that searches has in common.

    Neither ever gets worse, and a bound above the plan is an error at once.

    Parameters
    ----------
    whose : str
        Problem and solver, for errors.
    gap : float
        Relative gap that is good enough, in [0, 1).
    deadline : Deadline
        Gives the clock.
    listener : callable
        Told of each change.
    granularity : int
        What the shortest makespan is a multiple of, in nanoseconds (``granularity.py``).

    Attributes
    ----------
    best : Incumbent or None
        The best plan.
    bound_ns : int
        No plan is shorter.
    history : list of Progress
        Each change, oldest first.
    """

    def __init__(
        self,
        whose: str,
        gap: float,
        deadline: Deadline,
        listener: Listener,
        granularity: int = 1,
    ) -> None:
        self._whose = whose
        self._granularity = granularity
        self._gap = max(gap, PROVEN_GAP)
        self._clock = deadline.clock
        self._began_s = self._clock()
        self._listener = listener
        self.best: Incumbent | None = None
        self.bound_ns = 0
        self.history: list[Progress] = []

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return self._clock() - self._began_s

    def offer(self, found: Incumbent | None) -> None:
        """Keep a plan if it is better than what is known."""
        known = [] if self.best is None else [self.best]
        best = best_of([*known, *([] if found is None else [found])])
        if best is not self.best:
            self.best = best
            self._tell()

    def settle(self, found: Incumbent) -> None:
        """Take another form of the best plan, no longer than that."""
        assert self.best is not None
        assert found.makespan_ns <= self.best.makespan_ns
        self.best = found
        self._tell()

    def raise_bound(self, bound_ns: int) -> None:
        """Take note of a lower bound that was proven."""
        bound_ns = rounded_up(bound_ns, self._granularity)
        if bound_ns > self.bound_ns:
            self.bound_ns = bound_ns
            self._tell()

    def gap(self) -> float | None:
        """``(plan - bound) / plan``; None without a plan.

        Raises
        ------
        ContradictionError
            If the bound is above the plan.
        """
        if self.best is None:
            return None
        self._check()
        makespan_ns = self.best.makespan_ns
        return (makespan_ns - self.bound_ns) / makespan_ns if makespan_ns else 0.0

    def proven(self) -> bool:
        """Whether the best plan is within the gap that was asked for; errors as ``gap``."""
        gap = self.gap()
        return gap is not None and gap <= self._gap

    def _check(self) -> None:
        """A bound above a plan is a fault; fail instead of hiding it in the gap."""
        if self.best is not None:
            check_bound(self.bound_ns, self.best.makespan_ns, self._whose)

    def _tell(self) -> None:
        self._check()
        makespan_ns = self.best.makespan_ns if self.best else None
        progress = Progress(self.elapsed_s, makespan_ns, self.bound_ns)
        # Plans that differ in how they dispatch alone are no progress that anyone can see.
        if not self.history or self.history[-1].at != progress.at:
            self.history.append(progress)
            self._listener(progress)
