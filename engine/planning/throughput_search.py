"""Looks for a plan's throughput plan: another plan, for while queries overlap on several devices.

The plan that answers one query soonest gives the CPU what it finishes while the GPU works; when
queries overlap the GPU always works, and hand-overs only cost. What counts then is how long a query
holds the busiest resource (placement/occupancy.py). Clusters are placed for the least of that
(least_load.py); with all plans that were thought of anyway the best are run as their periodic
schedules have it (periodic_plan.py), queries overlapping, against the plan for one query. Nothing
is taken that is not shown to let through more. On several GPUs that are alike a plan may be there
several times (replication.py); where bits must stay, nothing but the plan for one query may.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine.contest.contest import Clock, Contest, ContestParams
from surplus.engine.contest.overlapping import InTurn, OverlappingQueries, TakesQueries
from surplus.engine.contest.selection import ModelContender
from surplus.engine.errors import ExecutionError
from surplus.engine.planning.least_load import LeastLoad
from surplus.engine.planning.periodic_plan import PeriodicCandidate, periodic
from surplus.engine.planning.same_answers import same_answers
from surplus.engine.planning.stages import Costs
from surplus.engine.planning.throughput_candidates import (
    JudgedThroughput,
    balanced,
    copies_of,
    crowd,
    judge,
    promising,
    repeated,
    replicable,
)
from surplus.engine.planning.tuning import Entrant
from surplus.engine.profiling.intervals import Verdict
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.segmentation.segmenter import Candidate

_log = logging.getLogger(__name__)

_FASTER = 0.05
"""Share of the time that it must be able to save where queries overlap, measured."""

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
class Challenger:
    """What is compared with the plan for one query: built as its periodic schedule has it."""

    judged: JudgedThroughput
    periodic: PeriodicCandidate
    models: Sequence[PlannedModel]

    @property
    def interval_ns(self) -> int:
        """Between two queries, of whichever copy."""
        return max(self.judged.busiest_ns, -(-self.periodic.interval_ns // len(self.models)))


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
    same_bits : bool
        Whether answers must be those of the plan for one query, to the last bit: then it is that
        plan, once on each of several GPUs.
    """

    costs: Costs
    build: Callable[[Candidate], ModelContender | None]
    inputs: Mapping[str, Any]
    time_ns: int
    clock: Clock = time.perf_counter_ns
    has_lost: Callable[[], bool] = lambda: False
    same_bits: bool = False

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
        chosen = self._promising(own.candidate, known)
        built = [
            challenger
            for judged in chosen[: min(_CHALLENGERS, affordable)]
            if (challenger := self._challenger(judged)) is not None
            and self._keeps_bits(own.contender.model, challenger)
        ]
        if not built:
            _log.info("no throughput plan: of %d plans none can be compared", len(chosen))
            return None
        return self._compared(mine, own.contender, built)

    def _promising(self, own: Candidate, known: Sequence[Candidate]) -> list[JudgedThroughput]:
        if self.same_bits:
            return promising(self.costs, own, [], list(repeated(self.costs, own)))
        solver = LeastLoad(self.time_ns / _NS_PER_S)
        placed = [*balanced(self.costs), *balanced(self.costs, solver, most=1)]
        copies = list(replicable(self.costs, known))
        return promising(self.costs, own, [*known, *placed], copies)

    def _keeps_bits(self, own: PlannedModel, challenger: Challenger) -> bool:
        """Whether its copies answer as the plan for one query does, if they have to."""
        if not self.same_bits:
            return True
        try:
            kept = all(same_answers(own, model, self.inputs) for model in challenger.models)
        except ExecutionError as error:
            self._do_without(error)
            return False
        if not kept:
            _log.info("%s answers with other bits elsewhere", challenger.judged.candidate.name)
        return kept

    def _challenger(self, judged: JudgedThroughput) -> Challenger | None:
        found = periodic(self.costs, judged.candidate)
        if found is None:
            return None
        candidates = (found.candidate, *copies_of(self.costs, found.candidate, judged.replication))
        built = [self.build(candidate) for candidate in candidates]
        models = [contender.model for contender in built if contender is not None]
        if len(models) < len(built):
            return None
        for model in models:
            model.be_queued(Queueing.window(found.in_flight))
        return Challenger(judged, found, models)

    def _compared(
        self, mine: JudgedThroughput, own: ModelContender, others: Sequence[Challenger]
    ) -> ThroughputPlan | None:
        saturation = max(judged.saturation for judged in (mine, *(o.judged for o in others)))
        in_flight = min(_MOST_IN_FLIGHT, round(_CROWD * saturation))
        models: list[TakesQueries] = [own.model, *(InTurn(other.models) for other in others)]
        runners = [OverlappingQueries(m, self.inputs, in_flight, self.clock) for m in models]
        contest = Contest(runners, 1, ContestParams(min_gain=_FASTER), self.clock)
        try:
            contest.play(self.clock() + self.time_ns)
        except ExecutionError as error:
            self._do_without(error)
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
            chosen.interval_ns,
            chosen.periodic.in_flight,
        )
        copies = chosen.judged.replication
        homes = () if copies is None else copies.homes
        return ThroughputPlan(chosen.models[0].plan, grounds, homes)

    def _do_without(self, error: ExecutionError) -> None:
        """A query failed: raise that again where a device was lost."""
        if self.has_lost():
            raise error
        _log.warning("no throughput plan: %s", error)

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
