"""One query of the last ones, or the next, as a trace: found by its id, its trace or its model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from surplus.engine.devices.machines import open_machines
from surplus.engine.errors import DeadlineError, InputError, UnknownQueryError
from surplus.engine.explain.flights import FlownRun
from surplus.engine.explain.late_query import LateQuery, explain_query
from surplus.engine.report.query_trace import query_trace
from surplus.engine.runtime import flight_log
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.seen_query import SeenQuery

LONGEST_WAIT_S = 60.0
_LOOK_S = 0.02
_MARGIN_NS = 1_000_000_000
"""What ran before a query may have been in its way."""

_BY = ("id", "trace_id", "model")


async def asked_trace(plane: DataPlane, words: Mapping[str, str]) -> dict[str, Any]:
    """The trace of a query, for Perfetto.

    Parameters
    ----------
    words : mapping
        Of a URL: ``id``, ``trace_id`` or ``model`` say which, the last one of those that all of
        them fit; ``next_s`` waits so many seconds for the next one instead.

    Raises
    ------
    InputError
        If none says which, or the wait is out of range.
    UnknownQueryError
        If it is none of the last ones.
    DeadlineError
        If none came in time.
    """
    wanted = {name: words[name] for name in _BY if words.get(name)}
    unknown = set(words) - {*_BY, "next_s"}
    if unknown or not (wanted or "next_s" in words):
        raise InputError("say which query: id, trace_id or model, or next_s to wait for one")
    if "next_s" in words:
        query = await _next(plane, wanted, _seconds(words["next_s"]))
    else:
        query = _known(plane, wanted)
    return await asyncio.to_thread(trace_of, query)


def trace_of(query: SeenQuery) -> dict[str, Any]:
    """Draw it, with what the core's recorder still knows."""
    explained = explained_query(query)
    about = query._asdict() | {"trace_id": query.trace_id}
    about["run"] = "recorded" if explained is not None else _why_unknown(query)
    title = f"{query.model} {query.id or query.trace_id}".rstrip()
    whole = "request", query.received_ns, query.answered_ns
    return query_trace(title, [whole, *query.stages], about, explained)


def explained_query(query: SeenQuery) -> LateQuery | None:
    """What the recorder knows of its run; None where it is not known, or not told from others."""
    window_s = (time.monotonic_ns() - query.received_ns + _MARGIN_NS) / 1e9
    for machine in open_machines():
        flights = flight_log.flights(machine, min(window_s, flight_log.LONGEST_WINDOW_S))
        runs = [
            run
            for card in flights.by_label.get(query.model, ())
            for run in flights.runs_of([card.number])
            if _is_of(query, run)
        ]
        if len(runs) == 1:
            return explain_query(flights, runs[0])
    return None


def _is_of(query: SeenQuery, run: FlownRun) -> bool:
    if query.plan or query.arrival:
        return (run.plan, run.arrival) == (query.plan, query.arrival)
    return query.started_ns <= run.begun_ns and run.end_ns <= query.ended_ns


def _why_unknown(query: SeenQuery) -> str:
    if query.plan or query.arrival:
        return "not known any more: others have taken the place of its records"
    return "not known: another process or a policy ran it, or others ran beside it"


def _known(plane: DataPlane, wanted: Mapping[str, str]) -> SeenQuery:
    found = _last(plane, wanted, 0)
    if found is None:
        said = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
        raise UnknownQueryError(f"no query with {said} is among the last ones")
    return found


async def _next(plane: DataPlane, wanted: Mapping[str, str], wait_s: float) -> SeenQuery:
    since_ns = plane.clock_ns()
    while (found := _last(plane, wanted, since_ns)) is None:
        if plane.clock_ns() - since_ns > wait_s * 1e9:
            raise DeadlineError(f"no such query came within {wait_s:g} s")
        await asyncio.sleep(_LOOK_S)
    return found


def _last(plane: DataPlane, wanted: Mapping[str, str], since_ns: int) -> SeenQuery | None:
    for query in reversed(plane.seen()):
        if query.received_ns < since_ns:
            continue
        if all(getattr(query, name) == value for name, value in wanted.items()):
            return query
    return None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_WAIT_S:
        raise InputError(f"next_s must be above 0, at most {LONGEST_WAIT_S:g}, got {text!r}")
    return seconds
