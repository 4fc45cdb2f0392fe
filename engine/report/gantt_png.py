"""A Gantt chart as a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from surplus.engine.report.figures import drawn, new_figure, plain
from surplus.engine.report.palette import legend, palette
from surplus.engine.report.tracks import heading, tracks
from surplus.placement.timeline import Span, Timeline

_WIDTH_INCHES = 13.0
_ROW_INCHES = 0.34
_PANEL_INCHES = 0.95
_LEGEND_INCHES = 0.6
_LEGEND_COLUMNS = 7
_PIXELS = 1600
"""About as many as the axis is wide: narrower spans are widened to one."""


def to_png(timelines: Sequence[Timeline], title: str) -> bytes:
    """Draw timelines below each other on one time axis."""
    colours = palette(timelines)
    heights = [_PANEL_INCHES + _ROW_INCHES * len(tracks(timeline)) for timeline in timelines]
    figure = new_figure(_WIDTH_INCHES, sum(heights) + _LEGEND_INCHES)
    panels = figure.subplots(
        len(timelines), 1, sharex=True, squeeze=False, height_ratios=heights
    ).ravel()
    limit_ns = max(1, *(timeline.makespan_ns for timeline in timelines)) * 1.02
    for axes, timeline in zip(panels, timelines, strict=True):
        _draw(axes, timeline, colours, limit_ns)
    panels[-1].set_xlabel("time (ms)")
    if title:
        figure.suptitle(plain(title), fontsize=13, fontweight="bold", x=0.01, ha="left")
    _draw_legend(figure, colours)
    return drawn(figure, "png")


def _draw(axes: Any, timeline: Timeline, colours: dict[str, str], limit_ns: float) -> None:
    rows = tracks(timeline)
    for height, (_, spans) in enumerate(rows):
        for colour, bars in _merged(spans, colours, limit_ns / _PIXELS).items():
            axes.broken_barh(bars, (height - 0.4, 0.8), facecolors=colour, linewidth=0)
    axes.axvline(timeline.makespan_ns / 1e6, color="#d00000", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), [plain(label) for label, _ in rows])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.set_xlim(0, limit_ns / 1e6)
    text = f"{heading(timeline)}, makespan {timeline.makespan_ns / 1e6:.3f} ms"
    axes.set_title(plain(text), loc="left", fontsize=11)
    axes.grid(axis="x", color="#e3e5e8", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _merged(
    spans: Sequence[Span], colours: dict[str, str], pixel_ns: float
) -> dict[str, list[tuple[float, float]]]:
    """Bars in ms by colour; neighbours of one colour less than half a pixel apart become one."""
    bars: dict[str, list[tuple[float, float]]] = defaultdict(list)
    last: str | None = None
    for span in spans:
        colour = colours[span.category]
        start, end = float(span.start_ns), max(span.end_ns, span.start_ns + pixel_ns / 2)
        if colour == last and start - bars[colour][-1][1] < pixel_ns / 2:
            start, end = bars[colour][-1][0], max(end, bars[colour].pop()[1])
        bars[colour].append((start, end))
        last = colour
    return {
        colour: [(start / 1e6, (end - start) / 1e6) for start, end in rows]
        for colour, rows in bars.items()
    }


def _draw_legend(figure: Any, colours: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    entries = [Patch(facecolor=colour, label=plain(label)) for label, colour in legend(colours)]
    if entries:
        figure.legend(
            handles=entries, loc="outside lower left", ncols=_LEGEND_COLUMNS, frameon=False
        )
