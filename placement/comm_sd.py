"""Comm+SD: SD, less the tasks whose data costs too much to move (SIR+ section 4.3).

Departures from Algorithm 1 as printed, each of which changes results:

- it multiplies bytes by the rate; here a copy takes ``Problem.copy_ns`` (bytes over rate, plus
  latency and occupancy);
- it leaves the start set open; the text says that it is SD's;
- it stops as soon as the placement changes; here once it does not;
- it counts a tensor once per consumer; here once per memory that it has to reach;
- it compares a task with its fastest device F_i, so that a task which is faster on the CPU, be it
  by a nanosecond, stays there whatever its data; the text compares with the GPU, and so do we: a
  task that left its default device goes back (``compare="fastest"`` is as printed);
- it knows no graph inputs and outputs; here these live on the host and cost copies, too.

``auto`` asks a native twin for the devices (placement/core/comm_sd.cpp): a change of one is a
change of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from surplus.placement.communication import communication_ns
from surplus.placement.evaluator import makespan_ns
from surplus.placement.ordering import Order, check_alpha, check_order, planned
from surplus.placement.overflow import slowdown_overflow
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem
from surplus.placement.threshold_search import best_threshold_ns, threshold_costs_ns

_ALWAYS_NS = (0, 100_000)
_TRIES, _ROUNDS = 6, 2
"""Thresholds that are tried: always, and by an instance's costs in each round, one and two more."""


@dataclass(frozen=True)
class CommSDParams:
    """Options of ``comm_sd``.

    Parameters
    ----------
    alpha_ns : int
        By how much a task with its copies may exceed its least service time; the paper's is
        100 us.
    max_iterations : int
        Most passes over the graph, >= 1; the paper sees fewer than 10.
    order : {"rank", "topological"}
        Planned start order, see ``ordering.planned``.
    compare : {"default", "fastest"}
        Against which device a task that left its default one is judged.
    """

    alpha_ns: int = 100_000
    max_iterations: int = 10
    order: Order = "rank"
    compare: Literal["default", "fastest"] = "default"

    def __post_init__(self) -> None:
        check_alpha(self.alpha_ns)
        if self.compare not in ("default", "fastest"):
            raise ValueError(f"compare must be 'default' or 'fastest', got {self.compare!r}")
        check_order(self.order)
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be >= 1, got {self.max_iterations}")


@dataclass(frozen=True)
class CommSDBestParams:
    """Options of ``comm_sd_best``, beside those of ``comm_sd``.

    Parameters
    ----------
    alphas_ns : tuple of int, optional
        The thresholds to try, in ns. By default 0, the paper's, and those that the problem's own
        costs suggest (threshold_search.py).
    """

    alphas_ns: tuple[int, ...] | None = None
    max_iterations: int = 10
    order: Order = "rank"

    def __post_init__(self) -> None:
        if self.alphas_ns is not None and not self.alphas_ns:
            raise ValueError("alphas_ns must name at least one threshold")
        for alpha_ns in self.alphas_ns or (0,):
            CommSDParams(alpha_ns, self.max_iterations, self.order)


@register("comm_sd", CommSDParams)
class CommSD:
    """SIR+'s own policy."""

    def __init__(self, params: CommSDParams | None = None) -> None:
        self._params = params or CommSDParams()

    def place(self, problem: Problem) -> Placement:
        """Start from SD, then send tasks with dear copies back until nothing changes."""
        devices = slowdown_overflow(problem, self._params.alpha_ns)
        returned: set[int] = set()
        for _ in range(self._params.max_iterations):
            if not _send_back(problem, devices, returned, self._params):
                break
        return planned(problem, devices, "comm_sd", self._params.order)


@register("comm_sd_best", CommSDBestParams)
class CommSDBest:
    """Comm+SD with the threshold that gives the shortest simulated makespan.

    The paper's 100 us exceeds whole tasks of a detector; which threshold suits depends on the
    graph. Ties go to the threshold that is named first, or, where none are named, to the least.
    """

    def __init__(self, params: CommSDBestParams | None = None) -> None:
        self._params = params or CommSDBestParams()

    def place(self, problem: Problem) -> Placement:
        """Place once per threshold and simulate each."""
        rest = self._params.max_iterations, self._params.order
        placed: dict[int, Placement] = {}

        def cost_ns(alpha_ns: int) -> int:
            placed[alpha_ns] = CommSD(CommSDParams(alpha_ns, *rest)).place(problem)
            return makespan_ns(problem, placed[alpha_ns])

        if self._params.alphas_ns is not None:
            alpha_ns = min(self._params.alphas_ns, key=cost_ns)
        else:
            costs = threshold_costs_ns(problem)
            alpha_ns = best_threshold_ns(costs, cost_ns, _ALWAYS_NS, _TRIES, _ROUNDS)
        best = placed[alpha_ns]
        return Placement(best.device_of, best.priority, "comm_sd_best")


def _send_back(
    problem: Problem, devices: list[int], returned: set[int], params: CommSDParams
) -> bool:
    """One pass in topological order, in place as printed; whether anything changed.

    A task in ``returned`` is where it went back to, and stays.
    """
    changed = False
    for task, spec in enumerate(problem.tasks):
        here, target = devices[task], _fastest_device(problem, task)
        if params.compare == "default" and here != spec.default_device:
            target = spec.default_device
        here_ns, target_ns = spec.service_ns[here], spec.service_ns[target]
        assert here_ns is not None, "start sets place tasks where they can run"
        assert target_ns is not None, "a default device can run its task"
        if here == target or task in returned:
            continue
        if here_ns + communication_ns(problem, devices, task) > target_ns + params.alpha_ns:
            devices[task] = target
            returned.add(task)
            changed = True
    return changed


def _fastest_device(problem: Problem, task: int) -> int:
    """F_i of Algorithm 1; ties go to the default device, then to the lowest index."""
    spec = problem.tasks[task]
    least_ns = min(time_ns for time_ns in spec.service_ns if time_ns is not None)
    if spec.service_ns[spec.default_device] == least_ns:
        return spec.default_device
    return spec.service_ns.index(least_ns)
