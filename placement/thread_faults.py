"""Whether one thread a device can have submitted what a timeline shows.

A timeline does not say when tasks were submitted. A thread is busy with a task for ``submit_ns``,
all of it before the task starts, and for its ``launch_ns`` right after; with a pageable copy while
that holds its link. So of each there is a latest end, and what has to end by then must fit in
before: what any thread could do, whenever it begins with what.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surplus.placement.placement import Placement
from surplus.placement.problem import Link, Problem
from surplus.placement.timeline import Span, SpanKind, Timeline


@dataclass(frozen=True, order=True)
class _Work:
    """What keeps a thread for so long, at the latest until then; a copy exactly until then."""

    until_ns: int
    time_ns: int
    name: str
    is_copy: bool

    @property
    def from_ns(self) -> int:
        """When that begins."""
        return self.until_ns - self.time_ns


def thread_faults(problem: Problem, placement: Placement, timeline: Timeline) -> Iterator[str]:
    """In words: work of a thread that does not fit in before its time, copies at one time."""
    works: dict[int, list[_Work]] = defaultdict(list)
    for span in timeline:
        if span.kind is SpanKind.COPY:
            link = problem.links_by_name.get(span.resource)
            owner = None if link is None else _owner(problem, placement, link)
            if link is not None and owner is not None:
                let_go_ns = span.end_ns - link.latency_ns
                works[owner].append(_Work(let_go_ns, let_go_ns - span.start_ns, span.name, True))
        elif 0 <= span.index < len(problem.tasks):
            index = placement.device_of[span.index]
            works[index].append(_submission(problem, span, index))
    for index, row in sorted(works.items()):
        yield from _late(problem.devices[index].name, sorted(row))
        yield from _at_once(problem.devices[index].name, [w for w in row if w.is_copy])


def _submission(problem: Problem, span: Span, index: int) -> _Work:
    launch_ns = problem.tasks[span.index].launches_ns(index)
    time_ns = problem.devices[index].submit_ns + launch_ns
    return _Work(span.start_ns + launch_ns, time_ns, span.name, False)


def _owner(problem: Problem, placement: Placement, link: Link) -> int | None:
    """Whose thread copies over a link hold: the first device in use of the memory off the host."""
    if not link.pageable:
        return None
    host = problem.devices[0].memory
    memory = link.source if link.target == host else link.target
    used = sorted(set(placement.device_of))
    return next((index for index in used if problem.devices[index].memory == memory), None)


def _late(device: str, works: Sequence[_Work]) -> Iterator[str]:
    busy_ns = 0
    for work in works:
        busy_ns += work.time_ns
        if busy_ns > work.until_ns:
            yield (
                f"{work.name!r} on {device!r}: its thread has work of {busy_ns} ns that must be"
                f" done by {work.until_ns}"
            )
            return


def _at_once(device: str, copies: Sequence[_Work]) -> Iterator[str]:
    for before, after in pairwise(sorted(copies, key=lambda c: (c.from_ns, c.until_ns))):
        if after.from_ns < before.until_ns:
            yield f"pageable copies {before.name!r} and {after.name!r} hold {device!r}'s thread"
