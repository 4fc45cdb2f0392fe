"""Which plans to try next: cut the whole model again, or move away from the best plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from surplus.engine.contest.contest import Clock
from surplus.engine.segmentation.coarse import longest_tail_first, predict
from surplus.engine.segmentation.groups import TaskGroup
from surplus.engine.segmentation.moves import moves
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes

Key = tuple[tuple[TaskGroup, ...], tuple[int, ...]]
"""Groups and their order: what makes two plans the same."""

Cut = Callable[[ServiceTimes], Sequence[Candidate]]
"""Candidates for given service times, best predicted first."""

_REORDERED = 16
"""How many of the best plans are tried in another order as well."""

_WORTH_A_STEP = 0.998


@dataclass(frozen=True)
class Proposer:
    """Proposes plans for given service times.

    Parameters
    ----------
    cut : Cut
        The segmenter.
    clock : Clock
        Limits how long it looks around.
    """

    cut: Cut
    clock: Clock

    def promising(
        self,
        best: Candidate,
        service: ServiceTimes,
        tried: Collection[Key],
        goal_ns: float,
        deadline_ns: int,
    ) -> list[Candidate]:
        """Plans not tried yet whose predicted makespan is below the goal, best first.

        Parameters
        ----------
        best : Candidate
            The best plan known.
        deadline_ns : int
            On the proposer's clock: until when further moves are looked for.
        """
        pool = sorted([*self.cut(service), *near(best, service)], key=promise)
        for candidate in [best, *pool[:_REORDERED]]:
            pool += by_tail(candidate, service)
        fresh = _fresh(pool, tried, goal_ns)
        if fresh:
            climbed = self._climbed(fresh[0], service, deadline_ns)
            fresh = _fresh([climbed, *fresh], tried, goal_ns)
        return fresh

    def _climbed(self, start: Candidate, service: ServiceTimes, deadline_ns: int) -> Candidate:
        """The best predicted move, again and again, as long as it is predicted to gain."""
        best = start
        while self.clock() < deadline_ns:
            step = min(near(best, service), key=promise, default=best)
            if step.predicted.makespan_ns > best.predicted.makespan_ns * _WORTH_A_STEP:
                break
            best = replace(step, name=f"{_origin(start)} + moves")
        return best


def key_of(candidate: Candidate) -> Key:
    """What tells a plan from another one."""
    return candidate.graph.groups, candidate.order or ()


def promise(candidate: Candidate) -> tuple[int, int, str]:
    """Sorts the best predicted first; of equal ones, that of fewer segments."""
    return (candidate.predicted.makespan_ns, len(candidate.graph.groups), candidate.name)


def near(best: Candidate, service: ServiceTimes) -> list[Candidate]:
    """One move away from a plan; none from one of a split batch, whose tasks are others."""
    if best.shards is not None:
        return []
    return [
        Candidate(f"{_origin(best)} + {kind}", graph, predict(graph, service))
        for kind, graph in moves(best.graph, service)
    ]


def by_tail(candidate: Candidate, service: ServiceTimes) -> list[Candidate]:
    """The same groups, those with the longest way to the end first, if that gains anything."""
    if candidate.shards is not None or candidate.graph.planned is not None:
        return []
    order = tuple(longest_tail_first(candidate.graph, service))
    before = predict(candidate.graph, service, order=candidate.order)
    predicted = predict(candidate.graph, service, order=order)
    if predicted.makespan_ns > before.makespan_ns * _WORTH_A_STEP:
        return []
    return [Candidate(f"{candidate.name} by tail", candidate.graph, predicted, order)]


def varied(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """The best ones; a name a second time only where other names run out."""
    first: dict[str, Candidate] = {}
    for candidate in ranked:
        first.setdefault(candidate.name, candidate)
    again = [c for c in ranked if first[c.name] is not c]
    return sorted([*first.values(), *again][:count], key=promise)


def _fresh(pool: Sequence[Candidate], tried: Collection[Key], goal_ns: float) -> list[Candidate]:
    """Those that reach the goal and were not tried, each once, best first."""
    found: dict[Key, Candidate] = {}
    for candidate in sorted(pool, key=promise):
        if candidate.predicted.makespan_ns < goal_ns and key_of(candidate) not in tried:
            found.setdefault(key_of(candidate), candidate)
    return list(found.values())


def _origin(candidate: Candidate) -> str:
    """The cut that a plan began as: names tell what was moved, not how often."""
    return candidate.name.split(" + ")[0].split(" (")[0].removesuffix(" by tail")
