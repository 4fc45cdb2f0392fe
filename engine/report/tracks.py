"""Rows of a drawing: one per lane of a device and per link."""

from __future__ import annotations

from collections import defaultdict

from surplus.placement.timeline import Span, SpanKind, Timeline


def tracks(timeline: Timeline) -> list[tuple[str, list[Span]]]:
    """Split a timeline into labelled rows, devices first, then links, each by name and lane.

    Spans of one row never overlap: copies that are still under way while the next one holds
    their link move to a further row of that link. A span of several lanes is in each.
    """
    lanes: dict[tuple[bool, str, int], list[Span]] = defaultdict(list)
    for span in timeline:
        for lane in span.lanes or (0,):
            lanes[span.kind is SpanKind.COPY, span.resource, lane].append(span)
    widths: dict[str, int] = defaultdict(int)
    for _, resource, _ in lanes:
        widths[resource] += 1
    found = []
    for (_, resource, lane), spans in sorted(lanes.items()):
        label = f"{resource} lane {lane}" if widths[resource] > 1 else resource
        rows = _without_overlap(spans)
        found += [(label if i == 0 else f"{label} (+{i})", row) for i, row in enumerate(rows)]
    return found


def _without_overlap(spans: list[Span]) -> list[list[Span]]:
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: (s.start_ns, s.end_ns, s.name)):
        free = next((row for row in rows if row[-1].end_ns <= span.start_ns), None)
        if free is None:
            rows.append(free := [])
        free.append(span)
    return rows


def heading(timeline: Timeline) -> str:
    """Say where a timeline comes from, and that a device is emulated where one is."""
    origin = timeline.origin
    known = origin.startswith(("predicted", "measured"))
    text = origin if known else f"predicted by {origin}"
    emulated = any("emulated" in span.resource for span in timeline)
    return f"{text} (emulated device)" if emulated and "emulated" not in text else text


def label_of(span: Span, *, width: bool = False) -> str:
    """What a span is called where its row is not beside it; if asked, of wide ones how wide."""
    name = f"copy {span.name}" if span.kind is SpanKind.COPY else span.name
    notes = [f"{len(span.lanes)} lanes"] if width and len(span.lanes) > 1 else []
    notes += [f"{span.queries} queries"] if span.queries > 1 else []
    return f"{name} ({', '.join(notes)})" if notes else name
