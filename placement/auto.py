"""``auto``: the best of what fast policies propose, improved, by native simulation.

It proposes what HEFT, PEFT, HOFT and what lies between them find, what HEFT finds for those tasks
that Comm+SD lets go, what shares out the load best (the prices of ``load_bounds``: lists by the
earliest end take no notice of which device a task is dear on, which costs wide problems a tenth),
what everything on one device comes to, and list schedules whose ranks and costs are shaken by
seeded noise. Where a query falls into parts that run one after another, the shortest of each part
are put together. Then seeded random changes of devices and order are kept where they help
(placement/core/drift.hpp), and so are changes of tasks and chains one by one (``descent``). Where
the time is enough for some hundred small changes, they are annealed (placement/core/chain.hpp).

How much of it runs is decided from the problem's size and ``time_ms`` alone, so that equal budgets
make equal plans, whoever else uses the machine: it is sized for one core of 2020. Only where this
thread has used several times as much is the rest left out, which is logged. Under memory limits
that the plan exceeds, ``best`` is asked instead, whatever the time, and its plan annealed: what was
moved out task by task leaves copies that changes of chains take away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from logging import getLogger
from time import thread_time_ns

import numpy as np

from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.best import Best, BestParams
from surplus.placement.evaluator import Numbers, compiled, placement_at
from surplus.placement.list_schedule import Choice, Reals
from surplus.placement.load_bounds import cheaper_here
from surplus.placement.ordering import order_of, planned_order
from surplus.placement.overflow import HOST
from surplus.placement.peft import mean_costs
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem
from surplus.placement.room import fits
from surplus.placement.streams import has_streams
from surplus.placement.widths import is_moldable

_NAME = "auto"
_log = getLogger(__name__)

_LEAST_MS, _TASK_MS = 8.0, 0.01
"""The time by default: at least the first, and the second for each task."""

_SEVERAL = 10
"""So many times as long where devices have several memories beside the host's: there is more to
choose, and a tenth of it finds plans of detectors that are 5 % longer."""

_OVERDUE = 6
"""So many times ``time_ms`` may be used before it counts as exceeded."""

_PROPOSAL_NS, _LISTED_NS = 50_000, 250
"""What a proposal costs beside its evaluation: by itself, and for each task with an edge."""

_EVALUATION_NS, _EVALUATED_NS = 5_000, 200
"""What an evaluation costs: the same."""

_CHANGE_NS, _CHANGED_NS = 1_000, 60
"""What a small change costs in annealing, where little is played anew: the same."""

_SUBMITTED = 2.5
"""So many times as much for each task where a thread submits some."""

_PROPOSING, _IMPROVING, _ANNEALING = 0.55, 0.25, 0.5
"""Shares of the time, the last where it is enough; few problems use up all of the first two."""

_LEAST_PROPOSALS, _MOST_PROPOSALS, _MOST_EVALUATIONS = 4, 24, 2_000
_LEAST_CHANGES, _MOST_CHANGES = 100, 10_000
_CHANGES_A_TASK = 1 / 6
"""Fewer are not worth what annealing takes before the first of them."""
_DRIFT = 0.75
"""Share of the evaluations for random changes, which find more than systematic ones in little time
where a query has many parts."""

_SHAKEN_FIRST = 5
"""So many shaken list schedules come before what only helps small or odd problems."""

_THRESHOLDS = 4.0, 12.0, 1.5
"""Thresholds of Comm+SD, in mean least service times."""

_LIMITED_CHANGES, _LIMITED_TASKS = 10_000, 20_000_000
"""Under limits of memories: so many changes, and tasks that are played for them, some seconds."""

_HOST_AND_ONE = 2
_SEED = 22

Proposal = tuple[Numbers, Numbers]
"""Places and priorities by task."""


@dataclass(frozen=True)
class AutoParams:
    """Options of ``auto``.

    Parameters
    ----------
    time_ms : float, optional
        How long it may think. By default 0.01 ms for each task, at least 8 ms; ten times as long
        with several GPUs. It has no use for more than some 2 ms for each task.
    """

    time_ms: float | None = None

    def __post_init__(self) -> None:
        if self.time_ms is not None and not 0 < self.time_ms < float("inf"):
            raise ValueError(f"time_ms must be above 0, got {self.time_ms}")


@register(_NAME, AutoParams)
class Auto:
    """The default of the CLI and of ``surplus.load``."""

    def __init__(self, params: AutoParams | None = None) -> None:
        self._params = params or AutoParams()

    def place(self, problem: Problem) -> Placement:
        """Propose, choose and improve.

        Raises
        ------
        InfeasibleError
            If no placement was found that the memories hold.
        """
        budget_ns = self._budget_ns(problem)
        places, priority = _Search(problem, budget_ns).run()
        found = placement_at(problem, places.tolist(), priority.tolist(), _NAME)
        if not fits(problem, found):
            fitting = BestParams(("comm_sd_best", "heft", "peft", "single"))
            begun = Best(fitting).place(problem)
            changes = min(_LIMITED_CHANGES, _LIMITED_TASKS // len(problem.tasks))
            annealed = improved(problem, begun, AnnealParams(iterations=max(1, changes)))
            return replace(annealed, policy=_NAME)
        return found

    def _budget_ns(self, problem: Problem) -> int:
        default_ms = max(_LEAST_MS, _TASK_MS * len(problem.tasks))
        if len({device.memory for device in problem.devices}) > _HOST_AND_ONE:
            default_ms *= _SEVERAL
        return round(1e6 * (self._params.time_ms or default_ms))


class _Search:
    """One problem's."""

    def __init__(self, problem: Problem, budget_ns: int) -> None:
        self._problem = problem
        self._asked = compiled(problem)
        self._is_moldable = is_moldable(problem)
        self._end_ns = thread_time_ns() + _OVERDUE * budget_ns
        edges = sum(len(tensor.consumers) for tensor in problem.tensors)
        size = (len(problem.tasks) + edges) // 2
        is_submitted = any(has_streams(problem, d) for d in range(len(problem.devices)))
        slower = _SUBMITTED if is_submitted else 1
        evaluation_ns = _EVALUATION_NS + size * slower * _EVALUATED_NS
        proposal_ns = _PROPOSAL_NS + size * _LISTED_NS + evaluation_ns
        proposals = round(_PROPOSING * budget_ns / proposal_ns)
        self._proposals = min(_MOST_PROPOSALS, max(_LEAST_PROPOSALS, proposals))
        self._evaluations = min(_MOST_EVALUATIONS, round(_IMPROVING * budget_ns / evaluation_ns))
        change_ns = _CHANGE_NS + size * slower * _CHANGED_NS
        changes = min(_MOST_CHANGES, round(_ANNEALING * budget_ns / change_ns))
        self._changes = changes if changes >= max(_LEAST_CHANGES, _CHANGES_A_TASK * size) else 0

    def run(self) -> Proposal:
        """Places and priorities of the best plan that was found."""
        proposals, evaluations, changes = [], self._evaluations, self._changes
        for proposal in islice(self._proposed(), self._proposals):
            proposals.append(proposal)
            if thread_time_ns() > self._end_ns:
                _log.info("%s: the time is over, proposals made: %d", _NAME, len(proposals))
                evaluations = changes = 0
                break
        drift = round(_DRIFT * evaluations)
        efforts = (evaluations - drift, drift, _SEED, changes)
        places, priority, _ = self._asked.search(proposals, *efforts)
        return places, priority

    def _proposed(self) -> Iterator[Proposal]:
        """Without end, the most promising first."""
        ranks, home_ns = self._asked.mean_upward_ranks(), self._asked.ways_home_ns()
        costs_ns = self._asked.optimistic_costs_ns()
        default = np.array([task.default_device for task in self._problem.tasks], np.int64)
        _, ratios, readers_ns = self._asked.hoft_tables()
        unit_ns = self._mean_least_ns()
        pinned_ns = [self._pinned(home_ns, default, unit_ns * times) for times in _THRESHOLDS]
        yield self._listed(ranks, home_ns)
        if self._is_moldable:
            yield self._listed(ranks, home_ns, is_narrow=True)
        yield self._listed(mean_costs(costs_ns), costs_ns)
        if len(self._problem.devices) > 1:
            yield self._shared_out(ranks, home_ns)
        yield default, np.arange(len(default))
        yield from (self._listed(ranks, table_ns) for table_ns in pinned_ns)
        yield self._listed(ratios, readers_ns, "fastest")
        yield self._listed(ranks, costs_ns, has_links=True)
        random, tables_ns = np.random.default_rng(_SEED), (home_ns, costs_ns, pinned_ns[0])
        for _ in range(_SHAKEN_FIRST):
            yield self._shaken(random, ranks, tables_ns)
        yield self._ordered(default)
        for device in range(len(self._problem.devices)):
            yield self._ordered(np.where(home_ns[:, device] >= 0, device, default))
        yield self._listed(ranks, home_ns, "readers")
        while True:
            yield self._shaken(random, ranks, tables_ns)

    def _shared_out(self, ranks: Reals, home_ns: Numbers) -> Proposal:
        """By the least load, the host against all others: what wide problems come near to."""
        is_host = cheaper_here(self._problem, HOST)[:, None]
        is_its = is_host == (np.arange(home_ns.shape[1]) == HOST)
        places, _ = self._asked.list_schedule(ranks, np.where(is_its, home_ns, -1))
        return self._ordered(places)

    def _mean_least_ns(self) -> float:
        """Of all tasks the mean of the least service time."""
        times_ns = self._asked.services_ns()
        least_ns = np.where(times_ns < 0, times_ns.max(initial=0), times_ns).min(axis=1)
        return float(least_ns.mean()) if len(least_ns) else 0.0

    def _pinned(self, home_ns: Numbers, default: Numbers, threshold_ns: float) -> Numbers:
        """The ways home, those of tasks that Comm+SD would leave where they are barred elsewhere.

        HEFT takes links for free: a crowd of tasks that each end a little earlier with megabytes to
        copy would fill them.
        """
        stays = self._asked.comm_sd(default, round(threshold_ns)) == default
        others = np.arange(home_ns.shape[1]) != default[:, None]
        return np.where(stays[:, None] & others, -1, home_ns)

    def _listed(
        self,
        ranks: Reals,
        ahead_ns: Numbers,
        choice: Choice = "least",
        *,
        has_links: bool = False,
        is_narrow: bool = False,
    ) -> Proposal:
        """A list schedule, maybe of narrowest widths: by the earliest end all would be too wide."""
        rules = (choice, has_links, is_narrow)
        places, starts_ns = self._asked.list_schedule(ranks, ahead_ns, *rules)
        return places, order_of(starts_ns)

    def _ordered(self, devices: Numbers) -> Proposal:
        return devices, planned_order(self._problem, devices)

    def _shaken(
        self, random: np.random.Generator, ranks: Reals, tables_ns: tuple[Numbers, ...]
    ) -> Proposal:
        """With noise of the size of service times in ranks, and in what devices cost."""
        services_ns, means_ns = self._services_ns
        ahead_ns = tables_ns[random.integers(len(tables_ns))]
        noise_ns = (random.random(services_ns.shape) * services_ns).astype(np.int64)
        shift = random.standard_normal(len(ranks)) * means_ns
        is_narrow = self._is_moldable and bool(random.integers(2))
        return self._listed(ranks + shift, ahead_ns + noise_ns, is_narrow=is_narrow)

    @cached_property
    def _services_ns(self) -> tuple[Numbers, Reals]:
        """By task and device, and means; 0 where it cannot run, which leaves costs below 0."""
        table = np.maximum(self._asked.services_ns(), 0)
        return table, table.mean(axis=1)
