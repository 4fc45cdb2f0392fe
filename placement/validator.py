"""An independent judge of timelines: shares no code with whoever made them.

It knows only what a placement problem means: which task runs where and for how long, what must
be there before it starts, and that lanes and links do one thing at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from surplus.placement.hold_faults import hold_faults
from surplus.placement.memory import binding_capacities, capacities, memory_use
from surplus.placement.memory_words import excess_in_words
from surplus.placement.placement import Placement
from surplus.placement.problem import Link, Problem, link_name
from surplus.placement.slowed_durations import unexplained
from surplus.placement.staging_faults import staging_faults
from surplus.placement.thread_faults import thread_faults
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.violation import Rule, Violation, refuse
from surplus.placement.widths import molded

Durations = Literal["exact", "any"]


def check(
    problem: Problem, placement: Placement, timeline: Timeline, durations: Durations = "exact"
) -> None:
    """Raise ValueError, naming the first violations, unless the timeline is valid."""
    refuse(validate(problem, placement, timeline, durations), f"timeline {timeline.origin!r}")


def validate(
    problem: Problem, placement: Placement, timeline: Timeline, durations: Durations = "exact"
) -> list[Violation]:
    """List what is wrong with a timeline of one or more queries.

    Parameters
    ----------
    problem, placement
        What was to be run. For a timeline of segments: the problem whose tasks are the segments.
    timeline : Timeline
        Spans of kind task and segment are judged alike.
    durations : {"exact", "any"}
        ``"exact"`` for predictions: durations are the problem's, and nothing is called ready
        before its inputs were there. ``"any"`` for measurements: durations may differ.

    Returns
    -------
    list of Violation
        Empty if the timeline is valid.

    Raises
    ------
    ValueError
        If the placement does not fit the problem, or ``durations`` is unknown.
    """
    if durations not in ("exact", "any"):
        raise ValueError(f"durations must be 'exact' or 'any', got {durations!r}")
    placement.check(problem)
    problem = molded(problem, placement)
    judge = _Judge(problem, placement, durations == "exact")
    by_query: dict[int, list[Span]] = defaultdict(list)
    for span in timeline:
        by_query[span.query].append(span)
    found = [v for spans in by_query.values() or [[]] for v in judge.query(spans)]
    found += judge.slowed([span for span in timeline if span.kind is not SpanKind.COPY])
    found += _memory(problem, placement, timeline)
    return [*found, *validate_at_once(problem, placement, timeline, durations)]


def validate_at_once(
    problem: Problem, placement: Placement, timeline: Timeline, durations: Durations = "exact"
) -> list[Violation]:
    """List who holds what another one holds: lanes, links, and if exact threads and pinned pools.

    A part of ``validate`` for which queries need not be there as a whole.
    """
    judge = _Judge(problem, placement, durations == "exact")
    found = [*judge.lanes(span for span in timeline if span.kind is not SpanKind.COPY)]
    found += judge.links(span for span in timeline if span.kind is SpanKind.COPY)
    if durations == "exact":
        faults = thread_faults(problem, placement, timeline)
        found += [Violation(Rule.THREAD, text) for text in faults]
        found += [Violation(Rule.STAGING, text) for text in staging_faults(problem, timeline)]
    return found


def _memory(problem: Problem, placement: Placement, timeline: Timeline) -> Iterator[Violation]:
    """Memories that hold more than they can at some time, all queries together."""
    alone = len({span.query for span in timeline}) == 1
    limits = binding_capacities(problem) if alone else capacities(problem)
    uses = memory_use(problem, placement, timeline) if limits else {}
    for memory, use in uses.items():
        if use.peak_bytes > limits.get(memory, use.peak_bytes):
            text = excess_in_words(problem, placement, use, limits[memory])
            yield Violation(Rule.MEMORY, text)


class _Judge:
    def __init__(self, problem: Problem, placement: Placement, exact: bool) -> None:
        self._problem = problem
        self._placement = placement
        self._device_of = placement.device_of
        self._exact = exact
        self._links = {link.name: link for link in problem.links}
        self._needed = dict(self._needed_copies())

    def _memory(self, task: int) -> str:
        """Where a task's tensors live; the host for -1, the maker of graph inputs."""
        return self._problem.devices[self._device_of[task] if task >= 0 else 0].memory

    def _needed_copies(self) -> Iterator[tuple[tuple[int, str], Link]]:
        links = {(link.source, link.target): link for link in self._problem.links}
        host = self._problem.devices[0].memory
        for index, tensor in enumerate(self._problem.tensors):
            targets = {self._memory(task) for task in tensor.consumers}
            if tensor.is_output:
                targets.add(host)
            home = self._memory(tensor.producer)
            if tensor.size_bytes:
                for target in targets - {home}:
                    link = links[home, target]
                    yield (index, link.name), link

    def query(self, spans: list[Span]) -> Iterator[Violation]:
        """Everything that concerns one query by itself."""
        tasks: dict[int, Span] = {}
        copies: dict[tuple[int, str], Span] = {}
        for span in spans:
            if not 0 <= span.ready_ns <= span.start_ns <= span.end_ns:
                times = (span.ready_ns, span.start_ns, span.end_ns)
                yield Violation(Rule.ORDER, f"{span.name!r}: ready, start, end are {times}")
            if span.kind is SpanKind.COPY:
                yield from self._collect_copy(span, copies)
            else:
                yield from self._collect_task(span, tasks)
        for index, task in enumerate(self._problem.tasks):
            if index not in tasks:
                yield Violation(Rule.MISSING, f"task {task.name!r} does not occur")
        for index, link in self._needed.keys() - copies.keys():
            name = self._problem.tensors[index].name
            yield Violation(Rule.MISSING, f"tensor {name!r} is not copied over {link}")
        yield from self._copies_in_time(tasks, copies)
        yield from self._tasks_in_time(tasks, copies)
        texts = hold_faults(self._problem, self._placement, tasks, copies)
        yield from (Violation(Rule.HOLD, text) for text in texts)

    def _collect_task(self, span: Span, tasks: dict[int, Span]) -> Iterator[Violation]:
        if not 0 <= span.index < len(self._problem.tasks):
            yield Violation(Rule.UNKNOWN, f"{span.name!r} is task {span.index}, of no problem")
            return
        if span.index in tasks:
            yield Violation(Rule.REPEATED, f"task {span.name!r} occurs twice")
        tasks[span.index] = span
        task, index = self._problem.tasks[span.index], self._device_of[span.index]
        device = self._problem.devices[index]
        if span.resource != device.name:
            text = f"task {task.name!r} ran on {span.resource!r}, placed on {device.name!r}"
            yield Violation(Rule.DEVICE, text)
            return
        if len(span.lanes) != task.width(index) or len(set(span.lanes)) != len(span.lanes):
            text = f"task {task.name!r} of width {task.width(index)} held lanes {span.lanes}"
            yield Violation(Rule.LANES, text)
        if any(not 0 <= lane < device.lanes for lane in span.lanes):
            text = f"task {task.name!r} on lanes {span.lanes}; {device.name!r} has {device.lanes}"
            yield Violation(Rule.LANES, text)
        if not device.slowdown:
            yield from self._lasts(span, task.service_ns[index])

    def _collect_copy(self, span: Span, copies: dict[tuple[int, str], Span]) -> Iterator[Violation]:
        key = (span.index, span.resource)
        if key not in self._needed:
            text = f"copy {span.name!r} over {span.resource!r} is not needed"
            yield Violation(Rule.UNKNOWN, text)
            return
        if key in copies:
            yield Violation(Rule.REPEATED, f"copy {span.name!r} over {span.resource!r}")
        copies[key] = span
        size_bytes = self._problem.tensors[span.index].size_bytes
        yield from self._lasts(span, self._needed[key].copy_ns(size_bytes))

    def _lasts(self, span: Span, expected_ns: int | None) -> Iterator[Violation]:
        if self._exact and span.duration_ns != expected_ns:
            text = f"{span.name!r} lasts {span.duration_ns} ns, not {expected_ns} ns"
            yield Violation(Rule.DURATION, text)

    def _copies_in_time(
        self, tasks: dict[int, Span], copies: dict[tuple[int, str], Span]
    ) -> Iterator[Violation]:
        for (index, _), copy in copies.items():
            producer = tasks.get(self._problem.tensors[index].producer)
            if producer is not None:
                yield from self._follows(copy, producer)

    def _tasks_in_time(
        self, tasks: dict[int, Span], copies: dict[tuple[int, str], Span]
    ) -> Iterator[Violation]:
        for index, span in tasks.items():
            for tensor in self._problem.inputs_of[index]:
                producer = self._problem.tensors[tensor].producer
                link = link_name(self._memory(producer), self._memory(index))
                if (tensor, link) not in self._needed:
                    source = tasks.get(producer)
                else:
                    source = copies.get((tensor, link))
                if source is not None:
                    yield from self._follows(span, source)

    def _follows(self, span: Span, source: Span) -> Iterator[Violation]:
        if span.start_ns < source.end_ns:
            text = f"{span.name!r} starts at {span.start_ns}, its input {source.name!r} is there"
            yield Violation(Rule.PRECEDENCE, f"{text} at {source.end_ns}")
        elif self._exact and span.ready_ns < source.end_ns:
            text = f"{span.name!r} is ready at {span.ready_ns}, before its input {source.name!r}"
            yield Violation(Rule.PRECEDENCE, f"{text} at {source.end_ns}")

    def slowed(self, spans: Sequence[Span]) -> Iterator[Violation]:
        """Tasks on lanes that slow each other that last another time, of any queries."""
        for index, device in enumerate(self._problem.devices if self._exact else ()):
            service_ns = {
                task: spec.service_ns[index] or 0
                for task, spec in enumerate(self._problem.tasks)
                if device.slowdown and self._device_of[task] == index
            }
            own = [s for s in spans if s.index in service_ns and s.resource == device.name]
            for span, expected in unexplained(device, own, service_ns):
                text = f"{span.name!r} lasts {span.duration_ns} ns, not {expected}"
                yield Violation(Rule.DURATION, text)

    def lanes(self, spans: Iterable[Span]) -> Iterator[Violation]:
        """Two spans at once on one lane, of any queries."""
        by_lane: dict[tuple[str, int], list[Span]] = defaultdict(list)
        for span in spans:
            for lane in span.lanes:
                by_lane[span.resource, lane].append(span)
        for (resource, lane), row in sorted(by_lane.items()):
            for before, after in _collisions(row, 0):
                text = f"{before.name!r} and {after.name!r} on lane {lane} of {resource!r}"
                yield Violation(Rule.OVERLAP, text)

    def links(self, spans: Iterable[Span]) -> Iterator[Violation]:
        """Two copies that hold one link at once, of any queries; latency holds nothing."""
        by_link: dict[str, list[Span]] = defaultdict(list)
        for span in spans:
            by_link[span.resource].append(span)
        for name, row in sorted(by_link.items()):
            latency_ns = self._links[name].latency_ns if name in self._links else 0
            for before, after in _collisions(row, latency_ns):
                text = f"copies {before.name!r} and {after.name!r} both hold {name}"
                yield Violation(Rule.LINK, text)


def _collisions(spans: Iterable[Span], idle_tail_ns: int) -> Iterator[tuple[Span, Span]]:
    """Each span that starts before an earlier one let go, ``idle_tail_ns`` before its end."""
    holder: Span | None = None
    for span in sorted(spans, key=lambda s: (s.start_ns, s.end_ns)):
        if holder is not None and span.start_ns < holder.end_ns - idle_tail_ns:
            yield holder, span
        if holder is None or span.end_ns > holder.end_ns:
            holder = span
