"""What may be a plan's throughput plan: known and placed candidates, by what each holds longest.

On several GPUs that are alike a candidate may be there several times (replication.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from surplus.engine.planning.candidates import Place, cuts_of_clusters
from surplus.engine.planning.proposals import Key, key_of
from surplus.engine.planning.replication import Replication, replications
from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.segmenter import Candidate, SegmentationParams
from surplus.placement.balance import Balance
from surplus.placement.memory import binding_capacities, constant_bytes
from surplus.placement.occupancy import bottleneck, occupancy_ns

_LESS = 0.9
"""A throughput plan must hold its busiest resource for no more of the time than this."""

_CUTS = SegmentationParams(fans=(4, 8), thickness=(2,), per_lane=(1,))
"""As few segments as lanes: further ones would only help a single query."""

Copies = tuple[Replication, Sequence[Candidate]]


@dataclass(frozen=True)
class JudgedThroughput:
    """A candidate and what it holds.

    Parameters
    ----------
    busiest, busiest_ns : str, int
        The resource that a query holds longest, and how long, on the mean of all copies.
    replication : Replication, optional
        Where copies of it are, if it is there several times.
    """

    candidate: Candidate
    busiest: str
    busiest_ns: int
    replication: Replication | None = None

    @property
    def makespan_ns(self) -> int:
        """Of one query."""
        return self.candidate.predicted.makespan_ns

    @property
    def saturation(self) -> float:
        """How many queries in flight keep the busiest resource busy."""
        return self.makespan_ns / max(1, self.busiest_ns)


def judge(
    costs: Costs, candidate: Candidate, replication: Replication | None = None
) -> JudgedThroughput:
    """Say what a candidate holds longest."""
    service = costs.service if candidate.shards is None else candidate.shards.service
    graph, order = candidate.graph, candidate.order
    held = occupancy_ns(*coarse_problem(graph, service, order=order))
    if replication is not None:
        held = replication.shared(costs.problem, held)
    busiest = bottleneck(held)
    return JudgedThroughput(candidate, busiest, held[busiest], replication)


def balanced(
    costs: Costs,
    place: Place | None = None,
    most: int | None = None,
    replication: Replication | None = None,
) -> list[Candidate]:
    """Of each placement of clusters for the least bottleneck the cut of the least.

    Parameters
    ----------
    place : callable, optional
        Places for that; ``balance`` by default.
    most : int, optional
        Of how many placements; those of the smallest clusters are first.
    replication : Replication, optional
        Where copies of it will be.
    """
    place = place or Balance().place
    if replication is not None:
        costs, place = replication.on_first(costs), partial(replication.placed, place)
    return [
        min((judge(costs, c, replication) for c in cuts), key=_promise).candidate
        for cuts in islice(cuts_of_clusters(costs, place, _CUTS), most)
        if cuts
    ]


def promising(
    costs: Costs, own: Candidate, known: Sequence[Candidate], copies: Sequence[Copies] = ()
) -> list[JudgedThroughput]:
    """Candidates that hold their busiest resource clearly less long than ``own``, the least first.

    Of equally busy ones that whose single query is shorter.

    Parameters
    ----------
    copies : sequence of (Replication, sequence of Candidate)
        Those that may be there several times.
    """
    limit_ns = _LESS * judge(costs, own).busiest_ns
    found: dict[tuple[Key, Replication | None], JudgedThroughput] = {}
    for replication, candidates in ((None, known), *copies):
        for candidate in candidates:
            if candidate.shards is None and _fits_beside(costs, own, candidate, replication):
                key = key_of(candidate), replication
                found.setdefault(key, judge(costs, candidate, replication))
    return sorted((j for j in found.values() if j.busiest_ns <= limit_ns), key=_promise)


def replicable(
    costs: Costs, known: Sequence[Candidate]
) -> Iterator[tuple[Replication, list[Candidate]]]:
    """What may be there several times: what is known to be on one group's GPUs, and placed so."""
    for replication in replications(costs.problem):
        gone = {device for group in replication.groups[1:] for device in group}
        here = {*replication.groups[0]}
        mine = [c for c in known if here & (used := _devices_of(c)) and not gone & used]
        yield replication, [*mine, *balanced(costs, replication=replication)]


def repeated(costs: Costs, own: Candidate) -> Iterator[tuple[Replication, list[Candidate]]]:
    """The candidate once more on each of the other GPUs, or groups of them, that are alike."""
    used = _devices_of(own)
    for replication in replications(costs.problem):
        here = [group for group in replication.groups if used & {*group}]
        if len(here) == 1:
            others = (group for group in replication.groups if group != here[0])
            yield replace(replication, groups=(*here, *others)), [own]


def crowd(own: JudgedThroughput, throughput_plan: JudgedThroughput) -> int:
    """How many queries must be in flight for the throughput plan to be better.

    The last one of n ends after n times the bottleneck, or the makespan if that is longer (the
    asymptotic bounds).
    """
    return max(2, round(throughput_plan.makespan_ns / max(1, own.busiest_ns)))


def _promise(judged: JudgedThroughput) -> tuple[int, int, str]:
    return judged.busiest_ns, judged.makespan_ns, judged.candidate.name


def _fits_beside(
    costs: Costs, own: Candidate, other: Candidate, replication: Replication | None
) -> bool:
    """Whether limited memories that hold the constants of one plan hold those of both.

    Of one that is there several times, that fit where it is, as it was placed within them.
    """
    problem = costs.problem
    for memory in binding_capacities(problem):
        others = other, *copies_of(costs, other, replication)
        mine, theirs, both = (
            constant_bytes(problem, _tasks_in(memory, candidates))
            for candidates in ((own,), others, (own, *others))
        )
        if both > (mine if replication is None else max(mine, theirs)):
            return False
    return True


def _devices_of(candidate: Candidate) -> set[int]:
    return {group.device for group in candidate.graph.groups}


def _tasks_in(memory: str, candidates: Sequence[Candidate]) -> set[int]:
    return {
        task
        for candidate in candidates
        for group in candidate.graph.groups
        if candidate.graph.problem.devices[group.device].memory == memory
        for task in group.tasks
    }


def copies_of(
    costs: Costs, candidate: Candidate, replication: Replication | None
) -> Iterator[Candidate]:
    """The candidate on each of the other groups' GPUs, if it is there several times."""
    return iter(()) if replication is None else replication.copies(costs, candidate)
