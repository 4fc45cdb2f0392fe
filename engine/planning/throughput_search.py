"""Looks for a plan's throughput plan: another plan, for while queries overlap on several devices.

The plan that answers one query soonest gives the CPU what it finishes while the GPU works; when
queries overlap the GPU always works, and hand-overs only cost. What counts then is how long a query
holds the busiest resource (placement/occupancy.py). Clusters are placed for the least of that
(least_load.py); with all plans that were thought of anyway the best are run as their periodic
schedules have it (periodic_plan.py), queries overlapping, against the plan for one query. Nothing
is taken that is not shown to let through more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from surplus.engine.contest.contest import Clock, Contest, ContestParams
from surplus.engine.contest.overlapping import OverlappingQueries
from surplus.engine.contest.selection import ModelContender
from surplus.engine.errors import ExecutionError
from surplus.engine.planning.candidates import Place, cuts_of_clusters
from surplus.engine.planning.least_load import LeastLoad
from surplus.engine.planning.periodic_plan import PeriodicCandidate, periodic
from surplus.engine.planning.proposals import Key, key_of
from surplus.engine.planning.stages import Costs
from surplus.engine.planning.tuning import Entrant
from surplus.engine.profiling.intervals import Verdict
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.segmenter import Candidate, SegmentationParams
from surplus.placement.balance import Balance
from surplus.placement.memory import binding_capacities, constant_bytes
from surplus.placement.occupancy import bottleneck, occupancy_ns

_log = logging.getLogger(__name__)

_LESS = 0.9
"""A throughput plan must hold its busiest resource for no more of the time than this."""

_FASTER = 0.05
"""Share of the time that it must be able to save where queries overlap, measured."""

_CUTS = SegmentationParams(fans=(4, 8), thickness=(2,), per_lane=(1,))
"""As few segments as lanes: further ones would only help a single query."""

_CHALLENGERS = 2
_CROWD = 4
_MOST_IN_FLIGHT = 32
"""Plans are compared with so many times as many queries in flight as keep the busiest busy."""

_QUERIES_LONG = 50
_PATIENCE = 8
"""A comparison lasts so many queries for each plan at the least, warming up included, and may last
so many times as long as one of single queries."""

_NS_PER_S = 1e9


@dataclass(frozen=True)
class JudgedThroughput:
    """A candidate and what it holds.

    Parameters
    ----------
    busiest, busiest_ns : str, int
        The resource that a query holds longest, and how long.
    """

    candidate: Candidate
    busiest: str
    busiest_ns: int

    @property
    def makespan_ns(self) -> int:
        """Of one query."""
        return self.candidate.predicted.makespan_ns

    @property
    def saturation(self) -> float:
        """How many queries in flight keep the busiest resource busy."""
        return self.makespan_ns / max(1, self.busiest_ns)


def judge(costs: Costs, candidate: Candidate) -> JudgedThroughput:
    """Say what a candidate holds longest."""
    service = costs.service if candidate.shards is None else candidate.shards.service
    graph, order = candidate.graph, candidate.order
    held = occupancy_ns(*coarse_problem(graph, service, order=order))
    busiest = bottleneck(held)
    return JudgedThroughput(candidate, busiest, held[busiest])


@dataclass(frozen=True)
class Challenger:
    """What is compared with the plan for one query: built as its periodic schedule has it."""

    judged: JudgedThroughput
    periodic: PeriodicCandidate
    contender: ModelContender


def balanced(costs: Costs, place: Place | None = None, most: int | None = None) -> list[Candidate]:
    """Of each placement of clusters for the least bottleneck the cut of the least.

    Parameters
    ----------
    place : callable, optional
        Places for that; ``balance`` by default.
    most : int, optional
        Of how many placements; those of the smallest clusters are first.
    """
    return [
        min((judge(costs, c) for c in cuts), key=_promise).candidate
        for cuts in islice(cuts_of_clusters(costs, place or Balance().place, _CUTS), most)
        if cuts
    ]


def promising(costs: Costs, own: Candidate, known: Sequence[Candidate]) -> list[JudgedThroughput]:
    """Candidates that hold their busiest resource clearly less long than ``own``, the least first.

    Of equally busy ones that whose single query is shorter.
    """
    limit_ns = _LESS * judge(costs, own).busiest_ns
    found: dict[Key, JudgedThroughput] = {}
    for candidate in known:
        if candidate.shards is None and _needs_no_more_memory(costs, own, candidate):
            found.setdefault(key_of(candidate), judge(costs, candidate))
    return sorted((j for j in found.values() if j.busiest_ns <= limit_ns), key=_promise)


def crowd(own: JudgedThroughput, throughput_plan: JudgedThroughput) -> int:
    """How many queries must be in flight for the throughput plan to be better.

    The last one of n ends after n times the bottleneck, or the makespan if that is longer (the
    asymptotic bounds).
    """
    return max(2, round(throughput_plan.makespan_ns / max(1, own.busiest_ns)))


@dataclass(frozen=True)
class ThroughputSearch:
    """How to look for a throughput plan.

    Parameters
    ----------
    costs : Costs
        From the profile.
    build : callable
        Makes what runs a candidate; None if a device refuses it.
    inputs : mapping
        Of the queries.
    time_ns : int
        Most time for comparing; a few times that where queries are long. A solver that places
        clusters has as much.
    has_lost : callable
        Whether a device is lost; then there is no plan to go on with either.
    """

    costs: Costs
    build: Callable[[Candidate], ModelContender | None]
    inputs: Mapping[str, Any]
    time_ns: int
    clock: Clock = time.perf_counter_ns
    has_lost: Callable[[], bool] = lambda: False

    def best(
        self, own: Entrant[ModelContender], known: Sequence[Candidate]
    ) -> ThroughputPlan | None:
        """The throughput plan of a plan, if one is shown to let more queries through.

        Parameters
        ----------
        known : sequence of Candidate
            All that were thought of for one query.

        Raises
        ------
        ExecutionError
            If a query fails because a device was lost; others only cost the throughput plan.
        """
        mine = judge(self.costs, own.candidate)
        least_ns = _QUERIES_LONG * max(1, mine.makespan_ns)
        affordable = _PATIENCE * self.time_ns // least_ns - 1
        if affordable < 1:
            _log.info("no throughput plan: queries are too long to be compared")
            return None
        solver = LeastLoad(self.time_ns / _NS_PER_S)
        placed = [*balanced(self.costs), *balanced(self.costs, solver, most=1)]
        chosen = promising(self.costs, own.candidate, [*known, *placed])
        built = [
            challenger
            for judged in chosen[: min(_CHALLENGERS, affordable)]
            if (challenger := self._challenger(judged)) is not None
        ]
        if not built:
            _log.info("no throughput plan: of %d plans none can be compared", len(chosen))
            return None
        return self._compared(mine, own.contender, built)

    def _challenger(self, judged: JudgedThroughput) -> Challenger | None:
        found = periodic(self.costs, judged.candidate)
        contender = None if found is None else self.build(found.candidate)
        if found is None or contender is None:
            return None
        contender.model.be_queued(Queueing.window(found.in_flight))
        return Challenger(judged, found, contender)

    def _compared(
        self, mine: JudgedThroughput, own: ModelContender, others: Sequence[Challenger]
    ) -> ThroughputPlan | None:
        saturation = max(judged.saturation for judged in (mine, *(o.judged for o in others)))
        in_flight = min(_MOST_IN_FLIGHT, round(_CROWD * saturation))
        models = [own.model, *(other.contender.model for other in others)]
        runners = [OverlappingQueries(m, self.inputs, in_flight, self.clock) for m in models]
        contest = Contest(runners, 1, ContestParams(min_gain=_FASTER), self.clock)
        try:
            contest.play(self.clock() + self.time_ns)
        except ExecutionError as error:
            if self.has_lost():
                raise
            _log.warning("no throughput plan: %s", error)
            return None
        self._tell(contest, mine, [other.judged for other in others], in_flight)
        best = _shown_best(contest, len(models))
        ratio = contest.against(best, 0).median
        if best == 0 or ratio > 1 - _FASTER:
            return None
        chosen = others[best - 1]
        grounds = Grounds(
            crowd(mine, chosen.judged),
            chosen.judged.busiest,
            chosen.judged.busiest_ns,
            mine.busiest,
            mine.busiest_ns,
            ratio,
            chosen.periodic.interval_ns,
            chosen.periodic.in_flight,
        )
        return ThroughputPlan(chosen.contender.model.plan, grounds)

    @staticmethod
    def _tell(
        contest: Contest, mine: JudgedThroughput, others: Sequence[JudgedThroughput], in_flight: int
    ) -> None:
        for index, judged in enumerate((mine, *others)):
            _log.info(
                "%d queries overlapping, %s: %d segments hold %s for %.3f ms, measured %.3f of %s",
                in_flight,
                judged.candidate.name,
                len(judged.candidate.graph.groups),
                judged.busiest,
                judged.busiest_ns / 1e6,
                contest.against(index, 0).median,
                mine.candidate.name,
            )


def _shown_best(contest: Contest, count: int) -> int:
    """The first that is shown to be faster than the plan for one query, unless a later one is shown
    to be faster than that: predictions rank better than a few rounds.
    """
    best = 0
    for index in range(1, count):
        if contest.verdict(index, best) is Verdict.FASTER:
            best = index
    return best


def _promise(judged: JudgedThroughput) -> tuple[int, int, str]:
    return judged.busiest_ns, judged.makespan_ns, judged.candidate.name


def _needs_no_more_memory(costs: Costs, own: Candidate, other: Candidate) -> bool:
    """Whether limited memories that hold the constants of one plan hold those of both."""
    problem = costs.problem
    for memory in binding_capacities(problem):
        mine, both = (
            constant_bytes(problem, _tasks_in(memory, candidates))
            for candidates in ((own,), (own, other))
        )
        if both > mine:
            return False
    return True


def _tasks_in(memory: str, candidates: Sequence[Candidate]) -> set[int]:
    return {
        task
        for candidate in candidates
        for group in candidate.graph.groups
        if candidate.graph.problem.devices[group.device].memory == memory
        for task in group.tasks
    }
