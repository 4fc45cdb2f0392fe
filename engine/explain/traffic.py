"""What models were asked and how long they took, over the last seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from surplus.engine.explain.flights import CANCELLED, FAILED, Flights, FlownRun
from surplus.engine.explain.late_query import LateQuery, explain_query


@dataclass(frozen=True)
class ModelTraffic:
    """Queries of one model that ended within a window of time.

    Parameters
    ----------
    model : str
    due_after_ns : int
        What its queries are, unless they say otherwise; 0: not due.
    priority : int
    best_effort : bool
    window_ns : int
        How long they are looked at: shorter where older ones are not known any more.
    latencies_ns : tuple of int
        Ascending, from the core's call to the end.
    misses, failed : int
        How many ended late; how many in an error or cancelled.
    waits : sequence of (str, float)
        Of the time of those that were explained, the share that they waited for queries of a
        model, or made way for them; the largest first.
    explained : int
        How many that were.
    """

    model: str
    due_after_ns: int
    priority: int
    best_effort: bool
    window_ns: int
    latencies_ns: tuple[int, ...]
    misses: int
    failed: int
    waits: Sequence[tuple[str, float]] = ()
    explained: int = 0

    @property
    def queries(self) -> int:
        """How many ended."""
        return len(self.latencies_ns)

    @property
    def rate_per_s(self) -> float:
        """How many a second."""
        return 1e9 * self.queries / max(1, self.window_ns)

    def percentile_ns(self, percent: float) -> int | None:
        """The latency that so many percent do not exceed, by nearest rank; None without queries."""
        if not self.latencies_ns:
            return None
        return self.latencies_ns[max(0, math.ceil(self.queries * percent / 100) - 1)]


def traffic_of(flights: Flights, most_explained: int) -> list[ModelTraffic]:
    """A row for each model that is loaded or was asked, by name.

    Parameters
    ----------
    most_explained : int
        Of all models together, so many of the last queries say who they waited for, late ones
        first.
    """
    asked = {label: _runs(flights, label) for label in flights.by_label}
    shown = {label: runs for label, runs in asked.items() if runs or _is_loaded(flights, label)}
    busy = sum(bool(runs) for runs in shown.values())
    each = most_explained // busy if busy else 0
    return [_traffic(flights, label, runs, each) for label, runs in sorted(shown.items())]


def _runs(flights: Flights, label: str) -> list[FlownRun]:
    plans = [card.number for card in flights.by_label[label]]
    return flights.runs_of(plans, flights.since_ns)


def _is_loaded(flights: Flights, label: str) -> bool:
    return not all(card.is_gone for card in flights.by_label[label])


def _traffic(flights: Flights, label: str, runs: list[FlownRun], most: int) -> ModelTraffic:
    # Its plans are as its newest is: a model says so to all of them.
    card = flights.by_label[label][-1]
    chosen = sorted(runs, key=lambda run: (run.late_ns > 0, run.end_ns))[-most:] if most else []
    explained = [explain_query(flights, run) for run in chosen]
    return ModelTraffic(
        model=label,
        due_after_ns=card.due_after_ns,
        priority=card.priority,
        best_effort=card.best_effort,
        window_ns=flights.now_ns - flights.runs_reach_ns(flights.by_label[label]),
        latencies_ns=tuple(sorted(run.latency_ns for run in runs)),
        misses=sum(run.late_ns > 0 for run in runs),
        failed=sum(run.outcome in (FAILED, CANCELLED) for run in runs),
        waits=_waits(explained),
        explained=len(explained),
    )


def _waits(explained: Sequence[LateQuery]) -> list[tuple[str, float]]:
    total: Counter[str] = Counter()
    for query in explained:
        for (_, culprit), ns in query.parts.items():
            if culprit is not None:
                total[culprit.model] += ns
    all_ns = max(1, sum(query.run.latency_ns for query in explained))
    return [(model, ns / all_ns) for model, ns in total.most_common() if ns]
