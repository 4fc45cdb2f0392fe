"""Places again with what the first plans took in place.

Beside a GPU, what a segment of the CPU takes depends on what ran before it, on tensors that come
from another device, on how long it waited: no profile knows that. The first plans that were run
show it (observations.py), so clusters are placed once more with these times, and what comes of it
runs against the best plan so far.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surplus.engine.contest.contest import Clock, Contest, ContestParams, ContestTurn
from surplus.engine.planning.candidates import Place, by_clusters
from surplus.engine.planning.observations import Observations
from surplus.engine.planning.proposals import by_tail, key_of, promise
from surplus.engine.planning.stages import Costs, replaced
from surplus.engine.planning.tuning import C, Entrant
from surplus.engine.segmentation.learning import carried_over
from surplus.engine.segmentation.segmenter import Candidate

_log = logging.getLogger(__name__)

_LOOKS = 2
_PLANS = 2
"""How often clusters are placed again, and how many plans of that are run each time."""


@dataclass(frozen=True)
class SecondLook:
    """How to go on after a first contest.

    Parameters
    ----------
    costs : Costs
        From the profile.
    place : callable
        The policy.
    fixed_devices : frozenset of int
        Devices whose times are given.
    time_ns : int
        Most time for running plans, each time.
    """

    costs: Costs
    place: Place
    fixed_devices: frozenset[int]
    time_ns: int
    clock: Clock = time.perf_counter_ns

    def best(
        self,
        entrants: Sequence[Entrant[C]],
        contest: Contest,
        build: Callable[[Candidate], C | None],
    ) -> tuple[Entrant[C], Sequence[ContestTurn]]:
        """The best plan, of those that were run and those that are thought of now.

        Parameters
        ----------
        entrants : sequence of Entrant
            Who took part in the contest.
        build : callable
            Makes what runs a candidate; None if a device refuses it.
        """
        observations = Observations(self.costs.service, self.fixed_devices)
        tried = {key_of(entrant.candidate) for entrant in entrants}
        best, turns = entrants[contest.winner], contest.turns(contest.winner)
        for _ in range(_LOOKS):
            observations.take(contest, [entrant.candidate for entrant in entrants])
            found = [c for c in self._promising(observations) if key_of(c) not in tried][:_PLANS]
            tried.update(map(key_of, found))
            built = [Entrant(c, runs) for c in found if (runs := build(c)) is not None]
            if not built:
                break
            entrants = [best, *built]
            runners = [entrant.contender for entrant in entrants]
            contest = Contest(runners, 1, ContestParams(), self.clock)
            contest.play(self.clock() + self.time_ns)
            tell(contest, entrants)
            best, turns = entrants[contest.winner], contest.turns(contest.winner)
        return best, turns

    def _promising(self, observations: Observations) -> list[Candidate]:
        """Clusters placed with the times learned, the best predicted first."""
        problem, service = self.costs.problem, observations.service
        kinds = [task.kind for task in problem.tasks]
        for device in set(range(len(problem.devices))) - self.fixed_devices:
            service = carried_over(service, self.costs.service, kinds, device)
        learned = Costs(replaced(problem, service), service)
        found = by_clusters(learned, self.place)
        found += [again for candidate in found for again in by_tail(candidate, service)]
        return sorted(found, key=promise)


def tell(contest: Contest, entrants: Sequence[Entrant[C]]) -> None:
    """Log what a contest came to."""
    best = contest.to_beat
    for index, entrant in enumerate(entrants):
        candidate = entrant.candidate
        _log.info(
            "%s: %d segments, predicted %.3f ms, measured %.3f of %s",
            candidate.name,
            len(candidate.graph.groups),
            candidate.predicted.makespan_ns / 1e6,
            contest.against(index, best).median,
            entrants[best].candidate.name,
        )
