"""A Gantt chart as one HTML file without external resources.

The page draws on a canvas, so that thousands of spans zoom smoothly; whatever is narrower than
a pixel is drawn a pixel wide once, and hovering still finds each span. The chain of spans that the
end of a query waited for is outlined, and the rows of links can be folded.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from surplus.engine.explain.critical_path import critical_path
from surplus.engine.report.palette import legend, palette
from surplus.engine.report.tracks import heading, label_of, tracks
from surplus.placement.timeline import Span, SpanKind, Timeline


def to_html(timelines: Sequence[Timeline], title: str) -> str:
    """Draw timelines below each other on one time axis; equal input gives equal text."""
    colours = palette(timelines)
    order = list(colours)
    data = {
        "panels": [_panel(timeline, order) for timeline in timelines],
        "categories": order,
        "colours": list(colours.values()),
        "legend": legend(colours),
    }
    page = files("surplus.engine.report").joinpath("gantt.html").read_text(encoding="utf-8")
    # Split first, so that neither a title nor a name can be taken for the other's mark.
    before, _, after = page.partition("<!--DATA-->")
    before = before.replace("<!--TITLE-->", html.escape(title or "Gantt chart"))
    return before + script_safe(data) + after


def _panel(timeline: Timeline, order: Sequence[str]) -> dict[str, Any]:
    index = {category: i for i, category in enumerate(order)}
    drawn = tracks(timeline)
    rows = [
        {
            "label": label,
            "copies": all(span.kind is SpanKind.COPY for span in spans),
            "spans": [_bar(span, index) for span in spans],
        }
        for label, spans in drawn
    ]
    return {
        "heading": heading(timeline),
        "makespan": timeline.makespan_ns,
        "rows": rows,
        "critical": _critical(timeline, drawn),
    }


def _critical(timeline: Timeline, drawn: Sequence[tuple[str, list[Span]]]) -> list[list[int]]:
    """Row and place of each span on the critical path, of the timeline of one query."""
    if len({span.query for span in timeline}) != 1:
        return []
    path = {id(span) for span in critical_path(timeline.spans, {})}
    return [
        [row, place]
        for row, (_, spans) in enumerate(drawn)
        for place, span in enumerate(spans)
        if id(span) in path
    ]


def _bar(span: Span, index: dict[str, int]) -> list[Any]:
    category = index[span.category]
    label = label_of(span, width=True)
    return [span.start_ns, span.end_ns, category, label, span.queueing_ns, span.query]


def script_safe(data: object) -> str:
    """JSON in which nothing can end the script element."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
