"""Runs built plans in turns, and says which one is faster and how sure that is.

On a machine whose speed changes from one second to the next only ratios within a round hold. A
plan wins against another if the confidence interval of the median of these ratios lies below 1.
Turns go on while that is open and time is left; whoever has lost drops out, and at 4, 8, 16, ...
rounds so does the slower half of those still open (successive halving).

Rounds while others took of the machine's cores count only as long as there are too few others:
they favour plans for few lanes, which leave the others their core. A contest that has no other
ones decides nothing: it takes the baseline that it was told to take then.

References
----------
Halving: Jamieson and Talwalkar, AISTATS 2016, Algorithm 1; there with a fixed budget for each step,
here the rounds double.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from surplus.engine.contest.conditions import Conditions
from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.profiling.intervals import Interval, Verdict, interval
from surplus.placement.timeline import Timeline

Clock = Callable[[], int]


@dataclass(frozen=True)
class ContestTurn:
    """What one contender did in one round.

    Parameters
    ----------
    wall_ns : int
        Time of a query, the median.
    timeline : Timeline
        Spans of one query that was traced.
    traced_ns : int
        Time of that one query.
    """

    wall_ns: int
    timeline: Timeline
    traced_ns: int

    @property
    def pace(self) -> float:
        """What the traced query's times must be multiplied by to be those of the median one."""
        return self.wall_ns / max(1, self.traced_ns)


class Contender(Protocol):
    """Something that answers the same query again and again."""

    def run(self) -> None:
        """Answer once."""

    def run_traced(self) -> ContestTurn:
        """Answer once; return what that took, without what reading the spans takes."""


@dataclass(frozen=True)
class ContestParams:
    """How long to compare.

    Parameters
    ----------
    min_gain : float
        Share of the time that a plan must be able to save; who cannot has lost.
    confidence : float
        Of the interval that decides.
    least_rounds, most_rounds : int
        The least are played whatever the time.
    block_ns : int
        A turn repeats queries for so long, so that a small model is measured warm.
    most_runs : int
        Queries of one turn.
    """

    min_gain: float = 0.01
    confidence: float = 0.99
    least_rounds: int = 3
    most_rounds: int = 40
    block_ns: int = 10_000_000
    most_runs: int = 16


_LIKELY_FASTER = 0.97
"""Median ratio from which a baseline takes the place of an earlier one."""

_SURELY_LONG = 20
"""A first query of so many blocks is no effect of cold caches."""


def _nothing() -> None:
    """What happens after a round unless told otherwise."""


_UNKNOWN = Conditions()


class Contest:
    """Rounds of turns among contenders.

    Parameters
    ----------
    contenders : sequence of Contender
        All of them run once or twice before the first round, uncounted.
    baselines : int
        The first so many are known plans, of which the fastest is the one to beat; the earlier
        one if they are about equal. The others are challengers.
    """

    def __init__(
        self,
        contenders: Sequence[Contender],
        baselines: int,
        params: ContestParams,
        clock: Clock,
        conditions: Conditions = _UNKNOWN,
    ) -> None:
        if not 1 <= baselines <= len(contenders):
            raise ValueError(f"baselines must be 1 to {len(contenders)}, got {baselines}")
        self._contenders = contenders
        self.baselines = baselines
        self._params = params
        self._clock = clock
        self._conditions = conditions
        self._active = list(range(len(contenders)))
        self._is_long: list[bool] = []
        self._round_ns = 0
        self.rounds: list[dict[int, ContestTurn]] = []
        self._quiet: list[dict[int, ContestTurn]] = []

    @property
    def is_disturbed(self) -> bool:
        """Whether too few rounds were played while nobody took of the cores."""
        return len(self._quiet) < min(len(self.rounds), self._params.least_rounds)

    @property
    def disturbance(self) -> Disturbance:
        """What others took while it lasted."""
        watch = self._conditions.watch
        return Disturbance() if watch is None else watch.overall()

    def play(self, deadline_ns: int, after_round: Callable[[], object] = _nothing) -> None:
        """Play until all is decided, or no round fits before the deadline any more."""
        params = self._params
        if not self._is_long:
            self._is_long = [self._warm_up(contender) for contender in self._contenders]
        while len(self.rounds) < params.most_rounds:
            enough = len(self.rounds) >= params.least_rounds
            if enough and (self._is_over() or self._clock() + self._round_ns > deadline_ns):
                return
            self._play_round()
            if len(self._counted) >= params.least_rounds and self._decides:
                self._drop()
            after_round()

    def turns(self, index: int) -> list[ContestTurn]:
        """What a contender did, round by round, until it dropped out."""
        return [row[index] for row in self.rounds if index in row]

    def against(self, index: int, other: int) -> Interval:
        """Time over the other's, from the rounds that decide and that both played.

        Of who dropped out before these, from all that both played.
        """
        if index == other:
            return Interval(1.0, 1.0, 1.0, len(self.turns(index)))
        ratios = _ratios(self._counted, index, other) or _ratios(self.rounds, index, other)
        return interval(ratios, self._params.confidence)

    def verdict(self, index: int, other: int) -> Verdict:
        """Whether a contender is faster than another."""
        return self.against(index, other).verdict(self._params.min_gain)

    @property
    def to_beat(self) -> int:
        """The fastest baseline: the first one, unless a later one is likely to be faster.

        Likely is enough here: all of them are known plans, and a burst of noise in the few rounds
        of one contest must not bring back a plan that lost the one before.
        """
        if not self._decides and self._conditions.fallback is not None:
            return self._conditions.fallback
        best = 0
        for index in range(1, self.baselines):
            if self.against(index, best).median < _LIKELY_FASTER:
                best = index
        return best

    @property
    def winner(self) -> int:
        """The fastest of those that are shown to be faster than the best baseline, else that."""
        best = self.to_beat
        if not self._decides:
            return best
        shown = [
            i
            for i in range(self.baselines, len(self._contenders))
            if self.verdict(i, best) is Verdict.FASTER
        ]
        return min(shown, key=lambda i: self.against(i, best).median, default=best)

    def _play_round(self) -> None:
        """Each round begins with the next contender, so that none always follows the same one."""
        row: dict[int, ContestTurn] = {}
        began_ns = self._clock()
        for place in range(len(self._active)):
            index = self._active[(place + len(self.rounds)) % len(self._active)]
            row[index] = self._turn(index)
        self._round_ns = self._clock() - began_ns
        self.rounds.append(row)
        watch = self._conditions.watch
        if watch is None or watch.lately(began_ns).is_quiet:
            self._quiet.append(row)

    @property
    def _decides(self) -> bool:
        return not self.is_disturbed or self._conditions.fallback is None

    @property
    def _counted(self) -> list[dict[int, ContestTurn]]:
        """Rounds that decide."""
        return self.rounds if self.is_disturbed else self._quiet

    def _warm_up(self, contender: Contender) -> bool:
        """Whether a query takes longer than a block; again where the first time may mislead."""
        first_ns = self._timed(contender)
        if not self._params.block_ns < first_ns < _SURELY_LONG * self._params.block_ns:
            return first_ns > self._params.block_ns
        return self._timed(contender) > self._params.block_ns

    def _turn(self, index: int) -> ContestTurn:
        """Queries for a block's time, the first one uncounted and the last one traced.

        A query that is longer than a block is run once, traced and counted: what the one before
        it left in the caches does not last, and tracing costs it nothing.
        """
        contender, began = self._contenders[index], self._clock()
        if self._is_long[index]:
            return contender.run_traced()
        contender.run()
        times = [self._timed(contender)]
        while len(times) < self._params.most_runs and (
            self._clock() - began < self._params.block_ns
        ):
            times.append(self._timed(contender))
        traced = contender.run_traced()
        return ContestTurn(round(statistics.median(times)), traced.timeline, traced.traced_ns)

    def _timed(self, contender: Contender) -> int:
        start_ns = self._clock()
        contender.run()
        return self._clock() - start_ns

    def _open(self) -> list[int]:
        best = self.to_beat
        return [i for i in self._active if i != best and self.verdict(i, best) is Verdict.OPEN]

    def _is_over(self) -> bool:
        return self._decides and not self._open()

    def _drop(self) -> None:
        """Losers leave; at powers of two, the slower half of the open challengers as well."""
        best, count = self.to_beat, len(self._counted)
        lost = {i for i in self._active if i != best and self.verdict(i, best) is Verdict.SLOWER}
        undecided = [i for i in self._open() if i >= self.baselines]
        if count >= 4 and count & (count - 1) == 0 and len(undecided) > 1:
            undecided.sort(key=lambda i: self.against(i, best).median)
            lost.update(undecided[(len(undecided) + 1) // 2 :])
        self._active = [i for i in self._active if i not in lost]


def _ratios(rounds: Sequence[Mapping[int, ContestTurn]], index: int, other: int) -> list[float]:
    return [
        row[index].wall_ns / max(1, row[other].wall_ns)
        for row in rounds
        if index in row and other in row
    ]
