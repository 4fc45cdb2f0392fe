"""A timeline of one query as JSON, by the names of its problem: enough to check it elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from surplus.placement.named_holds import hold_rows
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, link_name
from surplus.placement.records import check_numbers, read_value
from surplus.placement.timeline import Span, SpanKind, Timeline

FORMATS = ("surplus-optimum/3", "surplus-optimum/2", "surplus-placed/1")
"""Of documents that have a schedule: of an optimum, and of ``engine place --json``. Optima of
version 2 had no holds."""


@dataclass(frozen=True)
class StoredTask:
    """Where and when a task runs, on which lanes of its device; times in nanoseconds."""

    name: str
    device: str
    lanes: tuple[int, ...]
    priority: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class StoredCopy:
    """A tensor's way from one memory to another.

    Parameters
    ----------
    start_ns, end_ns : int
        When it takes the link, and when its data is there; the link is free ``latency_ns`` before.
    """

    tensor: str
    source: str
    target: str
    link: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class StoredSchedule:
    """What documents with a schedule have in common.

    Parameters
    ----------
    problem : str
        Name of the problem.
    makespan_ns : int or None
        What the document says; None if it has no plan.
    bound_ns : int
        What it says that no plan is below.
    gap : float or None
        ``(makespan_ns - bound_ns) / makespan_ns``, or None where it says nothing.
    dispatched_ns : int or None
        What it says that the simulator makes of the plan without its holds; None where it says
        nothing.
    held_ns : int or None
        The same with its holds.
    holds, copy_holds : tuple
        As ``hold_rows`` has them.
    """

    problem: str
    makespan_ns: int | None
    bound_ns: int
    tasks: tuple[StoredTask, ...]
    copies: tuple[StoredCopy, ...]
    gap: float | None = None
    dispatched_ns: int | None = None
    held_ns: int | None = None
    holds: tuple[tuple[str, str], ...] = ()
    copy_holds: tuple[tuple[str, str, str], ...] = ()

    @staticmethod
    def from_json(text: str) -> StoredSchedule:
        """Read the schedule of a document.

        Raises
        ------
        ValueError
            Naming the field that is missing, of a wrong type or out of range.
        """
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"result: not JSON: {error}") from error
        if not isinstance(raw, dict) or raw.get("format") not in FORMATS:
            raise ValueError(f"result: field 'format' must be {' or '.join(map(repr, FORMATS))}")
        check_numbers(raw, "result")
        schedule: StoredSchedule = read_value(StoredSchedule, raw, "result")
        return schedule


def schedule_rows(problem: Problem, placement: Placement, timeline: Timeline) -> dict[str, Any]:
    """Fields ``tasks`` (by index), ``copies`` (by start) and holds of a document."""
    spans = {span.index: span for span in timeline if span.kind is SpanKind.TASK}
    return {
        "tasks": [
            {
                "name": task.name,
                "device": spans[index].resource,
                "lanes": list(spans[index].lanes),
                "priority": placement.priority[index],
                "start_ns": spans[index].start_ns,
                "end_ns": spans[index].end_ns,
            }
            for index, task in enumerate(problem.tasks)
        ],
        "copies": list(_copy_rows(problem, timeline)),
        **hold_rows(problem, placement),
    }


def _copy_rows(problem: Problem, timeline: Timeline) -> Iterator[Mapping[str, Any]]:
    for span in timeline:
        if span.kind is SpanKind.COPY:
            link = problem.links_by_name[span.resource]
            yield {
                "tensor": span.name,
                "source": link.source,
                "target": link.target,
                "link": link.name,
                "start_ns": span.start_ns,
                "end_ns": span.end_ns,
            }


def timeline_of(problem: Problem, schedule: StoredSchedule) -> Timeline:
    """Its spans; of unknown tasks and tensors with an index that the problem does not have.

    When something was ready is not stored: here as it starts, which breaks no rule that its start
    keeps.
    """
    tasks = {task.name: index for index, task in enumerate(problem.tasks)}
    tensors = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
    spans = [
        Span(
            SpanKind.TASK,
            tasks.get(row.name, len(tasks)),
            row.name,
            "",
            row.device,
            row.lanes,
            row.start_ns,
            row.start_ns,
            row.end_ns,
        )
        for row in schedule.tasks
    ] + [
        Span(
            SpanKind.COPY,
            tensors.get(row.tensor, len(tensors)),
            row.tensor,
            "copy",
            row.link if row.link == link_name(row.source, row.target) else "",
            (0,),
            row.start_ns,
            row.start_ns,
            row.end_ns,
        )
        for row in schedule.copies
    ]
    return Timeline.of(spans, "stored")
