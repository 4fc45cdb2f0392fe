"""A runner-up answers some of a model's queries beside the plan, to see which is faster now.

Only queries that nothing overlaps go to the runner-up, and only these count. What its queries took
longer than the plan's is charged to a share of the queries' time (share.py), and so is what the
trial itself takes of each query, a third of one of 30 µs. Where the share is used up the trial's
turns end for a while; where taking part costs more than the share, the trial rests: nobody should
ask it until it can be afforded. Without a runner-up a trial only notes what queries take.

While it lasts Python looks at each query, which the front end would answer otherwise. So where
queries nearly always overlap, and hardly any counts, it is crowded, and to be given up.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from surplus.engine import _core
from surplus.engine.judging.paired_turns import PairedTurns, PairParams
from surplus.engine.profiling.intervals import Interval, Verdict, median
from surplus.engine.runtime.on_trial import Ask, QueryTrial, took_ns
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.runtime.share import REGRET, Share
from surplus.engine.runtime.throughput_switch import ThroughputSwitch

_REMEMBERED = 33
"""Queries of each plan whose median is its time now."""

_SEEN, _TIMES_NOTED = 64, 8
"""It is crowded after so many queries, of which fewer than one in so many was alone."""


class PlanTrial(QueryTrial):
    """Routes a model's queries while it lasts. Thread-safe.

    Parameters
    ----------
    plan, runner_up : Prepared
        The model's own, and the other.
    switch : ThroughputSwitch, optional
        Of the plan: what queries run while they overlap.
    look : int
        Over when so many queries of the plan were noted, if there is no runner-up.
    ended : callable
        Called when it is over, by the thread that answered the last query.

    Attributes
    ----------
    queries_ns, lost_ns : int
        Time of all queries meanwhile, and of it what the runner-up's took longer than the plan's
        and what the trial took.
    """

    def __init__(
        self,
        plan: Prepared,
        runner_up: Prepared | None,
        switch: ThroughputSwitch | None,
        share: Share,
        ended: Callable[[], object],
        *,
        look: int = 8,
        params: PairParams | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.plan = plan
        self.runner_up = runner_up
        self._switch = switch
        self._share = share
        self._ended = ended
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._turns = PairedTurns(params or PairParams())
        self._open: list[Ask] = []
        self._own: deque[int] = deque(maxlen=_REMEMBERED)
        self._others: deque[int] = deque(maxlen=_REMEMBERED)
        self._noted = self._seen = 0
        self._own_ns = 0
        self.queries_ns = 0
        self.lost_ns = 0

    def begin(self) -> Ask:
        """Begin a query."""
        came_ns = self._clock()
        with self._lock:
            ends = self._collect() and self._is_to_end
            overlapping = None if self._switch is None else self._switch.now()
            for other in self._open:
                other.is_alone = False
            is_alone = overlapping is None and not self._open
            of_runner_up = is_alone and self._is_for_runner_up()
            chosen = (self.runner_up if of_runner_up else overlapping) or self.plan
            ask = Ask(chosen, of_runner_up, is_alone, self._clock())
            self._open.append(ask)
            self._take(ask.began_ns - came_ns)
        if ends:
            self._ended()
        return ask

    def done(self, ask: Ask, run: _core.Run) -> None:
        """Its traced run has ended, well or not."""
        if run.status == "ok":
            self.answered(ask, took_ns(run))
        else:
            self.failed(ask)

    def answered(self, ask: Ask, took_ns: int | None = None) -> None:
        """It has its answer; after how long, where the caller knows better than the clock."""
        now_ns = self._clock()
        if self._switch is not None:
            self._switch.answered(ask.began_ns)
        with self._lock:
            self._open.remove(ask)
            self._note(ask, now_ns - ask.began_ns if took_ns is None else took_ns)
            self._collect()
            self._take(self._clock() - now_ns)
            ends = self._is_to_end
        if ends:
            self._ended()

    def failed(self, ask: Ask) -> None:
        """It has none."""
        with self._lock:
            self._open.remove(ask)
            self._seen += 1
            self._turns.interrupt()
            ends = self.is_crowded
        if ends:
            self._ended()

    def collect(self) -> None:
        """Note submitted queries that are done."""
        with self._lock:
            self._collect()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to be learnt."""
        return self._noted >= self._look if self.runner_up is None else self._turns.is_over

    @property
    def is_crowded(self) -> bool:
        """Whether next to none of its queries is alone: there is little to be learnt here."""
        return self._seen >= _SEEN and self._noted * _TIMES_NOTED < self._seen

    @property
    def _is_to_end(self) -> bool:
        return self.is_over or self.is_crowded or self.is_resting

    @property
    def is_resting(self) -> bool:
        """Whether it should not be asked now: it waits for its share, and that costs too much."""
        if self.runner_up is None or self._own_ns <= REGRET * self.queries_ns:
            return False
        return not self.is_over and not self.may_go_on

    @property
    def may_go_on(self) -> bool:
        """Whether its next turn can be afforded."""
        return self._share.affords(self._turns.next_turn_ns(_median(self._own)))

    @property
    def ratio(self) -> Interval | None:
        """The runner-up's time over the plan's; None before there is a pair."""
        with self._lock:
            return self._turns.ratio

    @property
    def verdict(self) -> Verdict:
        """Of the runner-up, so far."""
        with self._lock:
            return self._turns.verdict

    @property
    def plan_ns(self) -> int:
        """What a query of the plan takes that nothing overlaps; 0 if there was none."""
        with self._lock:
            return _median(self._own)

    @property
    def runner_up_ns(self) -> int:
        """The same of the runner-up."""
        with self._lock:
            return _median(self._others)

    def _is_for_runner_up(self) -> bool:
        if self.runner_up is None or not self._own:
            return False
        return self._turns.wants_runner_up(_median(self._own), self._share.affords)

    def _collect(self) -> bool:
        """Whether there was something to note."""
        done = [a for a in self._open if a.run is not None and a.run.done]
        for ask in done:
            self._open.remove(ask)
            assert ask.run is not None
            if ask.run.status == "ok":
                self._note(ask, took_ns(ask.run))
        return bool(done)

    def _note(self, ask: Ask, took_ns: int) -> None:
        self._seen += 1
        self.queries_ns += took_ns
        self._share.earn(took_ns)
        if ask.of_runner_up:
            self._charge(max(0, took_ns - _median(self._own)))
        if not ask.is_alone:
            self._turns.interrupt()
            return
        (self._others if ask.of_runner_up else self._own).append(took_ns)
        self._noted += 1
        if self.runner_up is not None:
            self._turns.note(took_ns, of_runner_up=ask.of_runner_up)

    def _take(self, own_ns: int) -> None:
        self._own_ns += own_ns
        self._charge(own_ns)

    def _charge(self, lost_ns: int) -> None:
        self.lost_ns += lost_ns
        self._share.spend(lost_ns)


def _median(times: deque[int]) -> int:
    return round(median(times)) if times else 0
