"""Measured timelines: the core's spans in the vocabulary of the simulator."""

from __future__ import annotations

from engine import _core
from engine.errors import EngineError
from engine.segmentation.plan import Plan
from placement.timeline import Span, SpanKind, Timeline


def measured_timeline(plan: Plan, native: _core.Plan, run: _core.Run) -> Timeline:
    """Spans of a finished traced run, from its submission on.

    The core numbers nodes as they were lowered: segments by rank, then copies.

    Raises
    ------
    EngineError
        If the run was not traced or is not done.
    """
    rows = run.spans()
    if not run.done or len(rows) == 0:
        raise EngineError("only a finished run that was submitted with traced=True has spans")
    segments = sorted(range(len(plan.segments)), key=lambda i: plan.segments[i].rank)
    categories = {s.index: s.category for s in plan.predicted if s.kind is not SpanKind.COPY}
    spans: list[Span] = []
    for node, lane, ready, start, end in rows.tolist():
        if lane < 0:
            continue
        if node < len(segments):
            index = segments[node]
            category = categories.get(index, "segment")
            spans.append(_segment_span(plan, index, category, lane, ready, start, end))
        else:
            spans.append(_copy_span(plan, node - len(segments), ready, start, end))
    return Timeline.of(spans, _origin(plan))


def _origin(plan: Plan) -> str:
    emulated = any(name.startswith("emulated") for name in plan.devices)
    return "measured (with an emulated device)" if emulated else "measured"


def _segment_span(
    plan: Plan, index: int, category: str, lane: int, ready: int, start: int, end: int
) -> Span:
    segment = plan.segments[index]
    return Span(
        SpanKind.SEGMENT,
        index,
        segment.name,
        category,
        plan.devices[segment.device],
        (lane,) if segment.width == 1 else tuple(range(segment.width)),
        ready,
        start,
        end,
    )


def _copy_span(plan: Plan, index: int, ready: int, start: int, end: int) -> Span:
    copy = plan.copies[index]
    link = f"{plan.memories[copy.source]}->{plan.memories[copy.target]}"
    return Span(SpanKind.COPY, index, copy.tensor, "copy", link, (0,), ready, start, end)
