"""Late queries as plain documents, and as traces for Perfetto."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from surplus.engine.explain.culprits import Culprit, Stretch
from surplus.engine.explain.late_query import LateQuery
from surplus.engine.explain.late_summary import LateCause, LateSummary
from surplus.engine.report.trace import to_trace

Row = dict[str, Any]

_MOST_TRACED = 16


def late_document(summaries: Iterable[LateSummary]) -> Row:
    """What ``engine top --late`` and the server say: a row a model; durations in ns."""
    return {"models": [_summary(summary) for summary in summaries]}


def late_trace(summaries: Iterable[LateSummary]) -> Row:
    """The last late queries, each a process with its lanes and what its time went to.

    Time 0 of each is when the core got it.
    """
    queries = [query for summary in summaries for query in summary.queries[-_MOST_TRACED:]]
    named = {_title(query): query for query in queries}
    trace = to_trace(
        {name: query.timeline for name, query in named.items()},
        {name: query.breakdown for name, query in named.items()},
    )
    for number, query in enumerate(named.values(), 1):
        trace["traceEvents"] += why_events(number, query, "why it was late")
    return trace


def described(stretch: Stretch) -> str:
    """What a stretch of time went to, for people."""
    what = stretch.category.value.replace("_", " ")
    if stretch.culprit is None:
        return what
    who = stretch.culprit
    if not who.segment:  # another process
        return f"{what}: {who.model}"
    return f"{what}: {who.model}'s {who.segment} on lane {who.lane} of {who.device}"


def _title(query: LateQuery) -> str:
    return f"{query.model} query {query.run.arrival}, {query.run.late_ns / 1e6:.3g} ms late"


_WHY_THREAD = 10_000
"""Behind all lanes."""


def why_events(process: int, query: LateQuery, title: str) -> Iterator[Row]:
    """A thread of a trace, called by that title: its stretches, and when it was due."""
    name = {"name": title}
    yield {"name": "thread_name", "ph": "M", "pid": process, "tid": _WHY_THREAD, "args": name}
    for stretch in query.stretches:
        yield {
            "name": described(stretch),
            "cat": stretch.category.value,
            "ph": "X",
            "ts": stretch.start_ns / 1e3,
            "dur": stretch.duration_ns / 1e3,
            "pid": process,
            "tid": _WHY_THREAD,
            "args": {"segment": stretch.segment, "between": stretch.is_between},
        }
    if query.run.due_ns:
        due_us = (query.run.due_ns - query.run.begun_ns) / 1e3
        place = {"pid": process, "tid": _WHY_THREAD}
        yield {"name": "due", "ph": "i", "s": "p", "ts": due_us, **place}


def _summary(summary: LateSummary) -> Row:
    return {
        "model": summary.model,
        "late": len(summary.queries) + summary.unknown,
        "unknown": summary.unknown,
        "sentences": summary.sentences,
        "causes": [_cause(cause) for cause in summary.causes],
        "shares": [
            {"category": category.value, "culprit": culprit or None, "share": share}
            for category, culprit, share in summary.shares
        ],
        "queries": [_query(query) for query in summary.queries],
    }


def _cause(cause: LateCause) -> Row:
    return {
        "category": cause.category.value,
        "culprit": cause.culprit or None,
        "queries": cause.queries,
        "waited_ns": cause.waited_ns,
        "segment": cause.segment or None,
        "lanes": [{"device": device, "lane": lane} for device, lane in cause.lanes],
    }


def _query(query: LateQuery) -> Row:
    run = query.run
    return {
        "arrival": run.arrival,
        "begun_ns": run.begun_ns,
        "due_ns": run.due_ns,
        "end_ns": run.end_ns,
        "late_ns": run.late_ns,
        "between_ns": query.between_ns,
        "parts": [
            {"category": category.value, "culprit": _culprit(who), "ns": ns}
            for (category, who), ns in query.parts.items()
        ],
        "stretches": _stretches(query.stretches),
    }


def _stretches(stretches: Sequence[Stretch]) -> list[Row]:
    return [
        {
            "category": stretch.category.value,
            "start_ns": stretch.start_ns,
            "end_ns": stretch.end_ns,
            "segment": stretch.segment or None,
            "culprit": _culprit(stretch.culprit),
        }
        for stretch in stretches
    ]


def _culprit(who: Culprit | None) -> Mapping[str, Any] | None:
    if who is None:
        return None
    return {
        "model": who.model,
        "segment": who.segment,
        "device": who.device,
        "lane": who.lane,
    }
