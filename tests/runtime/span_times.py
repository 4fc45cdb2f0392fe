"""Times of a timeline's spans, for comparing a run with its prediction."""

from __future__ import annotations

from surplus.placement.timeline import SpanKind, Timeline


def times_of(timeline: Timeline) -> dict[tuple[str, str | int], tuple[int, int, int]]:
    """When each copy and each segment was ready, began and ended."""
    return {
        (s.resource, s.name if s.kind is SpanKind.COPY else s.index): (
            s.ready_ns,
            s.start_ns,
            s.end_ns,
        )
        for s in timeline
    }
