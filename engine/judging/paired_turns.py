"""Which of two plans answers the next query, in paired turns, and what these show.

A machine changes its speed from one second to the next, so a turn of one plan is compared with the
turn of the other next to it: A B, then B A, then A B. The first query of a turn is not counted
where there are several: it finds the caches of the other plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surplus.engine.profiling.intervals import Interval, Verdict, interval, median


@dataclass(frozen=True)
class PairParams:
    """How long to compare.

    Parameters
    ----------
    turn_ns : int
        Queries of one turn take about so long; a longer one is a turn.
    most_queries : int
        Of one turn, beside the first.
    least_pairs, most_pairs : int
        Of turns. With fewer than eight a lucky row of them decides what is not so: beside a busy
        process a plan for two lanes takes one or two times as long, from one query to the next.
    confidence, min_gain : float
        As of a contest (contest.py).
    doubt : float
        The share of its time by which the runner-up may be slower while nothing is known.
    """

    turn_ns: int = 4_000_000
    most_queries: int = 8
    least_pairs: int = 8
    most_pairs: int = 40
    confidence: float = 0.99
    min_gain: float = 0.01
    doubt: float = 0.5


_LIKELY_FASTER = 0.97
"""Median ratio from which a runner-up takes over that 40 pairs have not shown to be faster: beside
a busy process a plan for two lanes takes one or three times as long, so the interval stays wide."""


class PairedTurns:
    """Pairs of turns of a plan and its runner-up."""

    def __init__(self, params: PairParams) -> None:
        self._params = params
        self._ratios: list[float] = []
        self._own: list[int] = []
        self._other: list[int] = []
        self._size = 1

    def wants_runner_up(self, own_ns: int, affords: Callable[[int], bool]) -> bool:
        """Whether the next query is the runner-up's.

        Parameters
        ----------
        own_ns : int
            What a query of the plan takes.
        affords : callable
            Whether so many nanoseconds may be lost.
        """
        if self._other:
            return len(self._other) < self._size
        self._size = self._turn_size(own_ns)
        if self._plan_begins and len(self._own) < self._size:
            return False
        return not self.is_over and affords(self.next_turn_ns(own_ns))

    def next_turn_ns(self, own_ns: int) -> int:
        """What the runner-up's next turn will probably lose; nothing within one."""
        return 0 if self._other else round(self._excess * own_ns * self._turn_size(own_ns))

    def note(self, took_ns: int, *, of_runner_up: bool) -> None:
        """A query that nothing overlapped was answered."""
        if of_runner_up:
            self._other.append(took_ns)
        elif self._plan_begins or len(self._other) >= self._size:
            self._own = [*self._own, took_ns][-self._size :]
        if len(self._own) >= self._size and len(self._other) >= self._size:
            self._ratios.append(_median(self._other) / max(1.0, _median(self._own)))
            self.interrupt()

    def interrupt(self) -> None:
        """Begin the pair anew."""
        self._own, self._other = [], []

    @property
    def ratio(self) -> Interval | None:
        """The runner-up's time over the plan's; None before there is a pair."""
        return interval(self._ratios, self._params.confidence) if self._ratios else None

    @property
    def verdict(self) -> Verdict:
        """Of the runner-up; after the most pairs likely is enough, since it may be taken back."""
        found = self.ratio
        if found is None or found.rounds < self._params.least_pairs:
            return Verdict.OPEN
        shown = found.verdict(self._params.min_gain)
        is_last = found.rounds >= self._params.most_pairs
        return Verdict.FASTER if is_last and found.median < _LIKELY_FASTER else shown

    @property
    def is_over(self) -> bool:
        """Whether it is decided, or will not be."""
        return len(self._ratios) >= self._params.most_pairs or self.verdict is not Verdict.OPEN

    @property
    def _plan_begins(self) -> bool:
        return len(self._ratios) % 2 == 0

    @property
    def _excess(self) -> float:
        if not self._ratios:
            return self._params.doubt
        return max(0.0, median(self._ratios) - 1)

    def _turn_size(self, own_ns: int) -> int:
        params = self._params
        counted = max(1, min(params.most_queries, params.turn_ns // max(1, own_ns)))
        return counted if counted == 1 else counted + 1


def _median(turn: list[int]) -> float:
    return median(turn[1:] or turn)
