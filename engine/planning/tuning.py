"""Profile-guided segmentation: build, measure in place, learn, cut again.

Each round builds a few plans that promise more than the best one so far, runs all of them in
turns (contest/contest.py), and learns from the times of their segments (segmentation/learning.py),
so that the next round's predictions are better. Plans come from cutting the whole model again and
from moves next to the best plan (segmentation/moves.py). It ends when nothing is predicted or
measured to gain, or the time is spent. What is run and what time it is comes from outside.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from surplus.engine.contest.conditions import Conditions, Watching
from surplus.engine.contest.contest import Clock, Contender, Contest, ContestTurn
from surplus.engine.planning.observations import Observations
from surplus.engine.planning.proposals import Cut, Key, Proposer, key_of, varied
from surplus.engine.planning.stages import ProgressCallback, no_progress
from surplus.engine.planning.tune_params import TuneParams
from surplus.engine.planning.tuning_report import Round, Tried, TuningReport
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes

C = TypeVar("C", bound=Contender)


@dataclass(frozen=True)
class Entrant(Generic[C]):
    """A candidate and what runs it."""

    candidate: Candidate
    contender: C

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole model as one segment."""
        return self.candidate.is_trivial


@dataclass(frozen=True)
class Tuned(Generic[C]):
    """The best plan, its last turns, the contest that they are of, and how it was found."""

    best: Entrant[C]
    turns: Sequence[ContestTurn]
    contest: Contest
    entrants: Sequence[Entrant[C]]
    report: TuningReport


_RESERVE = 0.15
"""Share of the time kept for comparing the result with the whole model once more."""

_THINKING = 0.15
"""Share of what is left that a round may spend on climbing in predictions."""

_MOST_DOUBT = 0.1
"""Plans that are predicted to be slower than this allows are not tried, however wrong predictions
were."""

_ENOUGH_ROUNDS = 8
"""So many are played where they are cheap even if all is decided: they teach more exactly."""

_SURE_ROUNDS = 20
"""So many does the last comparison play where time is left: its ratio is what users see."""

_TYPICAL_ROUNDS = 8
"""Turns that deciding a comparison takes, to size a round."""


class Tuner(Generic[C]):
    """One tuning of one model.

    Parameters
    ----------
    service : ServiceTimes
        The first guess, from the profile.
    cut : Cut
        Makes candidates for given service times.
    build : callable
        Makes what runs a candidate; None if a device refuses it.
    clock : callable
        Nanoseconds, monotonic.
    watch : callable
        Makes what says how disturbed the machine is; None if nothing does.
    """

    def __init__(
        self,
        service: ServiceTimes,
        cut: Cut,
        build: Callable[[Candidate], C | None],
        params: TuneParams,
        clock: Clock,
        progress: ProgressCallback = no_progress,
        watch: Callable[[], Watching | None] = lambda: None,
    ) -> None:
        self._watch = watch
        self._observations = Observations(service, params.fixed_devices)
        self._proposer = Proposer(cut, clock)
        self._build = build
        self._params = params
        self._clock = clock
        self._progress = progress
        self._began_ns = clock()
        self._end_ns = self._began_ns + round(params.time_s * 1e9)
        self._tried: set[Key] = set()
        self._names: Counter[str] = Counter()
        self._doubt = 0.0
        self._rounds: list[Round] = []

    def run(self, first: Sequence[Candidate]) -> Tuned[C] | None:
        """Tune.

        Parameters
        ----------
        first : sequence of Candidate
            Plans to begin with, whole models first, narrow before wide; they are the ones to
            beat, or else the first candidate is.

        Returns
        -------
        Tuned or None
            None if none of the first plans could be built.
        """
        entrants = self._built(first)
        if not entrants:
            return None
        known = max(1, sum(entrant.is_whole for entrant in entrants))
        contest = self._contest(entrants, known)
        anchor = entrants[contest.to_beat]
        best, turns = self._closed(contest, entrants)
        idle, stopped = 0, ""
        while not stopped:
            idle, stopped, best, turns = self._next_round(anchor, best, turns, idle)
        return self._checked(anchor, best, turns, stopped)

    def _next_round(
        self, anchor: Entrant[C], best: Entrant[C], turns: Sequence[ContestTurn], idle: int
    ) -> tuple[int, str, Entrant[C], Sequence[ContestTurn]]:
        """One round; says why there is no other one, if so."""
        count = self._affordable(turns)
        if count < 1:
            return idle, "the time is spent", best, turns
        chosen = self._promising(best.candidate, count)
        if not chosen:
            return idle, "nothing is predicted to gain 1 %", best, turns
        known = [best] if best is anchor else [anchor, best]
        entrants = [*known, *self._built(chosen)]
        if len(entrants) > len(known):
            contest = self._contest(entrants, len(known))
            winner, turns = self._closed(contest, entrants)
            idle = 0 if winner is not best else idle + 1
            best = winner
        else:
            idle += 1
        return idle, "nothing gained when measured" * (idle >= self._params.patience), best, turns

    def _built(self, candidates: Iterable[Candidate]) -> list[Entrant[C]]:
        found: list[Entrant[C]] = []
        for candidate in candidates:
            self._tried.add(key_of(candidate))
            self._show_progress()
            named = self._named(candidate)  # first: its plan is to have the report's name
            contender = self._build(named)
            if contender is not None:
                found.append(Entrant(named, contender))
        return found

    def _named(self, candidate: Candidate) -> Candidate:
        """Cut again with other times a plan has its old name, so it gets a number."""
        self._names[candidate.name] += 1
        count = self._names[candidate.name]
        return candidate if count == 1 else replace(candidate, name=f"{candidate.name} ({count})")

    def _contest(self, entrants: Sequence[Entrant[C]], known: int) -> Contest:
        """Compare, within half of what is left; more rounds than needed if they cost little."""
        left_ns = self._left_ns()
        return self._played(entrants, known, left_ns // 2, _ENOUGH_ROUNDS)

    def _played(
        self, entrants: Sequence[Entrant[C]], known: int, time_ns: int, enough: int
    ) -> Contest:
        """A contest of at most that time, and of so many rounds if they take a quarter of it."""
        params = self._params.contest
        turn_ns = max(self._observations.predicted_ns(entrant.candidate) for entrant in entrants)
        fitting = time_ns // 4 // (len(entrants) * max(turn_ns, params.block_ns))
        params = replace(params, least_rounds=max(params.least_rounds, min(enough, fitting)))
        contest = Contest(
            [e.contender for e in entrants], known, params, self._clock, Conditions(self._watch())
        )
        contest.play(self._clock() + time_ns, self._show_progress)
        self._last = contest, entrants
        return contest

    def _closed(
        self, contest: Contest, entrants: Sequence[Entrant[C]]
    ) -> tuple[Entrant[C], Sequence[ContestTurn]]:
        """Note a round's results, learn from them, and say who is best now."""
        candidates = [entrant.candidate for entrant in entrants]
        rows = tuple(self._row(contest, candidates, index) for index in range(len(entrants)))
        self._rounds.append(Round(rows, candidates[contest.winner].name))
        self._doubt = min(_MOST_DOUBT, _median_error(rows[contest.baselines :]))
        self._observations.take(contest, candidates)
        return entrants[contest.winner], contest.turns(contest.winner)

    def _row(self, contest: Contest, candidates: Sequence[Candidate], index: int) -> Tried:
        candidate, ratio = candidates[index], contest.against(index, contest.to_beat)
        measured_ns = _median_ns(contest.turns(index))
        on_first_clock_ns = self._observations.measured_ns(contest, candidates, index)
        predicted_ns = self._observations.predicted_ns(candidate)
        return Tried(
            name=candidate.name,
            segments=len(candidate.graph.groups),
            wide=sum(group.width > 1 for group in candidate.graph.groups),
            predicted_ns=round(predicted_ns * measured_ns / max(1, on_first_clock_ns)),
            measured_ns=measured_ns,
            ratio=ratio,
            verdict=ratio.verdict(self._params.contest.min_gain),
        )

    def _promising(self, best: Candidate, count: int) -> list[Candidate]:
        """Plans not tried yet that are predicted to gain, several kinds of them."""
        now = self._clock()
        deadline = now + round(max(0, self._end_ns - now) * _THINKING)
        goal_ns = self._observations.makespan_goal_ns(self._goal_ns(best))
        found = self._proposer.promising(
            best, self._observations.service, self._tried, goal_ns, deadline
        )
        return varied(found, count)

    def _goal_ns(self, best: Candidate) -> float:
        """What a query must be predicted to take for a plan to be tried.

        The best plan's time less the least gain that counts, and more where predictions were
        wrong in the round before: a plan may then be better than predicted.
        """
        gain = self._params.contest.min_gain - self._doubt
        return self._observations.predicted_ns(best) * (1 - gain)

    def _affordable(self, turns: Sequence[ContestTurn]) -> int:
        """How many plans the next round may build; none if no comparison would fit."""
        left_ns = self._left_ns()
        turn_ns = max(self._params.contest.block_ns, _median_ns(turns))
        fitting = left_ns // 2 // (_TYPICAL_ROUNDS * turn_ns) - 2
        if fitting < 1 and left_ns > 3 * self._params.contest.least_rounds * turn_ns:
            return 1
        return max(0, min(self._params.challengers, fitting))

    def _checked(
        self, anchor: Entrant[C], best: Entrant[C], turns: Sequence[ContestTurn], stopped: str
    ) -> Tuned[C]:
        """Compare with the whole model in fresh rounds: luck does not win twice."""
        whole = anchor.candidate.name if anchor.is_whole else None
        ratio = None
        if best is not anchor:
            time_ns = max(0, self._end_ns - self._clock())
            contest = self._played([anchor, best], 1, time_ns, _SURE_ROUNDS)
            ratio = contest.against(1, 0)
            best, index = (best, 1) if ratio.median < 1 else (anchor, 0)
            turns = contest.turns(index)
        self._progress("tune (s)", round(self._params.time_s), round(self._params.time_s))
        report = TuningReport(
            rounds=tuple(self._rounds),
            chosen=best.candidate.name,
            whole=whole,
            against_whole=ratio if whole and best is not anchor else None,
            stopped=stopped,
            time_s=(self._clock() - self._began_ns) / 1e9,
            budget_s=self._params.time_s,
        )
        return Tuned(best, turns, *self._last, report)

    def _left_ns(self) -> int:
        """Until the time is spent, but for the last comparison."""
        reserve_ns = round(self._params.time_s * 1e9 * _RESERVE)
        return max(0, self._end_ns - reserve_ns - self._clock())

    def _show_progress(self) -> None:
        total = max(1, round(self._params.time_s))
        elapsed = round((self._clock() - self._began_ns) / 1e9)
        self._progress("tune (s)", min(total, elapsed), total)


def _median_error(rows: Sequence[Tried]) -> float:
    return statistics.median(row.error for row in rows) if rows else 0.0


def _median_ns(turns: Sequence[ContestTurn]) -> int:
    return round(statistics.median(turn.wall_ns for turn in turns))
