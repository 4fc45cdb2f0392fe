"""Why one recorded query took as long as it did: each stretch of its time, and who was in the way.

The stretches are those of its breakdown (breakdown.py), each cut further where another query begins
or ends to be what it waited for. So they add up to all of its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from surplus.engine.explain.breakdown import Breakdown, breakdown
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.explain.categories import Category
from surplus.engine.explain.culprits import Culprit, Stretch, blamed
from surplus.engine.explain.flights import OK, Flights, FlownRun
from surplus.engine.explain.flown_spans import QUERY, FlownSpans, spans_of
from surplus.placement.timeline import Timeline

WORK = (Category.SERVICE, Category.COPY)
"""What a query would take with nobody in the way."""


@dataclass(frozen=True)
class LateQuery:
    """A query that was recorded, explained; late or not.

    Parameters
    ----------
    model : str
        Whose.
    run : FlownRun
    stretches : tuple of Stretch
        In order of time from 0, when the core got it, to its end, without gaps.
    breakdown : Breakdown
        The same without culprits.
    timeline : Timeline
        What ran meanwhile, for whomever.
    is_whole : bool
        Whether all of its records were there; else what it waited for is not known, and shows as
        dispatch.
    """

    model: str
    run: FlownRun
    stretches: tuple[Stretch, ...]
    breakdown: Breakdown
    timeline: Timeline
    is_whole: bool

    @cached_property
    def parts(self) -> Mapping[tuple[Category, Culprit | None], int]:
        """Time by what it went to and who was in the way, the longest first, in ns."""
        total: Counter[tuple[Category, Culprit | None]] = Counter()
        for stretch in self.stretches:
            total[stretch.category, stretch.culprit] += stretch.duration_ns
        return dict(total.most_common())

    @property
    def cause(self) -> tuple[Category, Culprit | None]:
        """What it waited for longest; its own service where that alone takes too long."""
        run, parts = self.run, self.parts
        own_ns = sum(ns for (category, _), ns in parts.items() if category in WORK)
        waits = [part for part in parts if part[0] not in WORK]
        if not waits or (run.due_ns and own_ns > run.due_ns - run.begun_ns):
            return Category.SERVICE, None
        return waits[0]

    @property
    def between_ns(self) -> int:
        """How much of its waits came after its first segment: between its slices."""
        return sum(s.duration_ns for s in self.stretches if s.is_between)


def explain_query(flights: Flights, run: FlownRun) -> LateQuery:
    """Say where the time of a query went."""
    flown = spans_of(flights, run)
    found = breakdown(
        flown.holders,
        lanes=flown.lanes,
        causes=flown.causes,
        call=CallTimes(0, 0, run.latency_ns, run.latency_ns),
        query=QUERY,
    )
    stretches = blamed(found, flown)
    whole = _is_whole(flights, run, flown)
    return LateQuery(flights.label(run.plan), run, stretches, found, flown.timeline, whole)


def late_queries(flights: Flights, model: str, most: int) -> list[LateQuery]:
    """The last queries of a model that came late, each explained, by their end.

    Parameters
    ----------
    most : int
        How many at most, > 0.
    """
    plans = [card.number for card in flights.by_label.get(model, ())]
    late = [run for run in flights.runs_of(plans) if run.late_ns > 0]
    return [explain_query(flights, run) for run in late[-most:]]


def _is_whole(flights: Flights, run: FlownRun, flown: FlownSpans) -> bool:
    card = flights.plans.get(run.plan)
    if card is None or not card.nodes:
        return False
    return flown.ran == len(card.nodes) if run.outcome == OK else not _is_lost(flights, run)


def _is_lost(flights: Flights, run: FlownRun) -> bool:
    """Of one that was ended, whether some of its records may be: those of its time are."""
    return any(reaches_ns > run.begun_ns for reaches_ns in flights.reaches_ns.values())
