"""Measured timelines: the core's spans in the vocabulary of the simulator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.engine import _core
from surplus.engine.devices.spec import traits_of
from surplus.engine.errors import EngineError
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.segmentation.plan import Copy, Plan
from surplus.placement.timeline import NO_INDEX, Span, SpanKind, Timeline


@dataclass(frozen=True)
class Traced:
    """A finished query that kept its spans.

    Parameters
    ----------
    timeline : Timeline
        From its submission on.
    submitted_ns : int
        When that was, on ``time.monotonic_ns``'s clock.
    call : CallTimes or None
        The caller's side, on the timeline's clock, if somebody looked.
    """

    timeline: Timeline
    submitted_ns: int
    call: CallTimes | None = None


def traced_query(
    plan: Plan,
    run: _core.Run | _core.Recording,
    lanes: Mapping[str, int],
    moments: Sequence[int] = (),
) -> Traced:
    """Read what a traced run recorded.

    Parameters
    ----------
    lanes : mapping of str to int
        Lanes by device.
    moments : sequence of int, optional
        Those of ``CallTimes`` on ``time.monotonic_ns``'s clock.

    Raises
    ------
    EngineError
        If the run was not traced or is not done.
    """
    timeline = measured_timeline(plan, run, lanes)
    call = CallTimes(*(moment - run.submitted_ns for moment in moments)) if moments else None
    return Traced(timeline, run.submitted_ns, call)


def measured_timeline(
    plan: Plan, run: _core.Run | _core.Recording, lanes: Mapping[str, int]
) -> Timeline:
    """Spans of a finished traced run, from its submission on.

    The core numbers nodes as they were lowered: segments by rank, then copies. It knows one lane
    of a wide segment; which others it held follows from what ran beside it.

    Raises
    ------
    EngineError
        If the run was not traced or is not done.
    """
    if not run.done or not run.submitted_ns:
        raise EngineError("only a finished run that was submitted with traced=True has spans")
    segments = sorted(range(len(plan.segments)), key=lambda i: plan.segments[i].rank)
    categories = {s.index: s.category for s in plan.predicted if s.kind is not SpanKind.COPY}
    copied = _copied(plan)
    spans: list[Span] = []
    for node, lane, ready, start, end in run.spans().tolist():
        if lane < 0:
            continue
        if node < len(segments):
            index = segments[node]
            category = categories.get(index, "segment")
            span = _segment_span(plan, index, category, lane, ready, start, end)
            spans.append(replace(span, queries=run.stacked))  # such a plan is a single segment
        else:
            copy = plan.copies[node - len(segments)]
            spans.append(_copy_span(plan, copy, copied, ready, start, end))
    widths = {i: s.width for i, s in enumerate(plan.segments) if s.width > 1}
    return Timeline.of(_widened(spans, widths, lanes) if widths else spans, _origin(plan))


def together(queries: Sequence[Traced]) -> Timeline:
    """Queries of the same devices on one clock, the first one's; numbered as they are given."""
    spans: list[Span] = []
    for number, query in enumerate(queries):
        later_ns = query.submitted_ns - queries[0].submitted_ns
        spans += [span.later(later_ns, query=number) for span in query.timeline]
    return Timeline.of(spans, queries[0].timeline.origin)


def _origin(plan: Plan) -> str:
    emulated = any(traits_of(name).is_emulated for name in plan.devices)
    return "measured (with an emulated device)" if emulated else "measured"


def _segment_span(
    plan: Plan, index: int, category: str, lane: int, ready: int, start: int, end: int
) -> Span:
    segment = plan.segments[index]
    device = plan.devices[segment.device]
    times = (ready, start, end)
    return Span(SpanKind.SEGMENT, index, segment.name, category, device, (lane,), *times)


def _copied(plan: Plan) -> dict[tuple[str, str], int]:
    """Index of the tensor of each copy, by its name and link, as the prediction has it."""
    return {(s.name, s.resource): s.index for s in plan.predicted if s.kind is SpanKind.COPY}


def _copy_span(
    plan: Plan, copy: Copy, copied: Mapping[tuple[str, str], int], ready: int, start: int, end: int
) -> Span:
    """A copy is known by its tensor, as in predictions; one of no bytes is in none."""
    link = plan.link_of(copy)
    index = copied.get((copy.tensor, link), NO_INDEX)
    return Span(SpanKind.COPY, index, copy.tensor, "copy", link, (0,), ready, start, end)


def _widened(
    spans: Sequence[Span], widths: Mapping[int, int], lanes: Mapping[str, int]
) -> list[Span]:
    """Give wide segments the lowest lanes that nothing else held meanwhile.

    Lanes are no more than labels to the seats of a wide segment: where narrow ones took turns on
    different lanes beside it, none may be left, and it shares one with them.
    """
    taken: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        taken[span.resource].append(span)
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: s.start_ns):
        width = 1 if span.kind is SpanKind.COPY else widths.get(span.index, 1)
        if width > 1:
            held = _held_meanwhile(span, taken[span.resource])
            others = (i for i in range(lanes[span.resource]) if i not in span.lanes)
            chosen = sorted(others, key=lambda lane: (lane in held, lane))[: width - 1]
            span = replace(span, lanes=tuple(sorted((*span.lanes, *chosen))))
            taken[span.resource].append(span)
        found.append(span)
    return found


def _held_meanwhile(span: Span, others: Sequence[Span]) -> set[int]:
    beside = (s for s in others if s.start_ns < span.end_ns and s.end_ns > span.start_ns)
    return {lane for other in beside for lane in other.lanes}
