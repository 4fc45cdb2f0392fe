"""Line and bar charts as one HTML file: SVG that needs no script and no external resources."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from pathlib import Path

from surplus.engine.atomic_file import write_atomic
from surplus.engine.report.palette import COLOURS

_WIDTH, _HEIGHT = 760, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44
_STYLE = """
body { font: 13px system-ui, sans-serif; margin: 16px 20px; color: #202328; background: #fff; }
h1 { font-size: 17px; } h2 { font-size: 14px; margin: 22px 0 4px; }
svg text { font: 11px system-ui, sans-serif; fill: #202328; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; max-width: 760px; }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px;
  vertical-align: -2px; border-radius: 2px; }
"""


@dataclass(frozen=True)
class Series:
    """A named row of points: of a line chart ``(x, y)``, of bars ``(category, y)``."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    """One chart.

    Parameters
    ----------
    title, x_label, y_label : str
    series : tuple of Series
    categories : tuple of str
        Makes it bars, in groups of these names; ``x`` is then the index of the group.
    marks : tuple of float or None
        A line across each group of bars, a target for example.
    y_most : float, optional
        End of the axis; what is above it is cut.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    marks: tuple[float | None, ...] = ()
    y_most: float | None = None


def write_charts(path: Path, charts: Sequence[Chart], title: str) -> None:
    """Write ``to_html``, whole or not at all."""
    write_atomic(path, to_html(charts, title).encode())


def to_html(charts: Sequence[Chart], title: str) -> str:
    """Draw charts below each other; equal input gives equal text."""
    body = "\n".join(_figure(chart) for chart in charts)
    name = html.escape(title)
    head = f'<meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style>'
    page = f"<body><h1>{name}</h1>\n{body}\n</body></html>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n{page}\n'


def _figure(chart: Chart) -> str:
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [f"<h2>{html.escape(chart.title)}</h2>", f'<svg {box} role="img">']
    parts += _Canvas(chart).drawn()
    parts += ["</svg>", _legend(chart.series)]
    return "\n".join(parts)


def _legend(series: Sequence[Series]) -> str:
    rows = "".join(
        f'<span><i style="background:{_colour(place)}"></i>{html.escape(row.name)}</span>'
        for place, row in enumerate(series)
    )
    return f'<div class="legend">{rows}</div>'


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _dashes(place: int) -> str:
    """Lines beyond the colours are told apart by dashes."""
    around = place // len(COLOURS)
    return f'stroke-dasharray="{8 // around} 3"' if around else ""


class _Canvas:
    """Places values of one chart on its area."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        points = [p for row in chart.series for p in row.points if isfinite(p[1])]
        marks = [mark for mark in chart.marks if mark is not None]
        self._y_most = chart.y_most or max([y for _, y in points] + marks, default=1.0) or 1.0
        if chart.categories:
            self._x_range = (0.0, float(len(chart.categories)))
        else:
            places = [x for x, _ in points] or [0.0]
            self._x_range = (min(places), max(max(places), min(places) + 1e-9))

    def drawn(self) -> Iterator[str]:
        """All elements."""
        yield from self._axes()
        yield from self._bars() if self._chart.categories else self._lines()

    def _x(self, value: float) -> float:
        low, high = self._x_range
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        share = min(1.0, max(0.0, value / self._y_most))
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def _axes(self) -> Iterator[str]:
        chart = self._chart
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for value in _steps(0.0, self._y_most):
            y = self._y(value)
            yield f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#e3e5e9"/>'
            yield _text(_LEFT - 6, y + 4, f"{value:g}", "end")
        if chart.categories:
            for place, name in enumerate(chart.categories):
                yield _text(self._x(place + 0.5), bottom + 16, name, "middle")
        else:
            for value in _steps(*self._x_range):
                yield _text(self._x(value), bottom + 16, f"{value:g}", "middle")
        yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#6b7078"/>'
        yield _text((_LEFT + right) / 2, _HEIGHT - 8, chart.x_label, "middle")
        turn = f'transform="rotate(-90 14 {_HEIGHT / 2:.0f})"'
        yield _text(14, _HEIGHT / 2, chart.y_label, "middle", turn)

    def _lines(self) -> Iterator[str]:
        for place, row in enumerate(self._chart.series):
            points = sorted(point for point in row.points if isfinite(point[1]))
            path = "L".join(f"{self._x(x):.1f} {self._y(y):.1f}" for x, y in points)
            if points:
                line = f'stroke="{_colour(place)}" stroke-width="2" {_dashes(place)}'
                yield f'<path d="M{path}" fill="none" {line}/>'
            for x, y in points:
                where = f'cx="{self._x(x):.1f}" cy="{self._y(y):.1f}" r="3"'
                yield f'<circle {where} fill="{_colour(place)}">{_tip(row.name, x, y)}</circle>'

    def _bars(self) -> Iterator[str]:
        series = self._chart.series
        slot = (self._x(1.0) - self._x(0.0)) * 0.84
        wide = slot / max(1, len(series))
        for place, row in enumerate(series):
            for group, value in row.points:
                x = self._x(group + 0.08) + place * wide
                y = self._y(value)
                tall = _HEIGHT - _BOTTOM - y
                box = f'x="{x:.1f}" y="{y:.1f}" width="{wide * 0.9:.1f}" height="{tall:.1f}"'
                name = f"{row.name}, {self._chart.categories[int(group)]}"
                yield f'<rect {box} fill="{_colour(place)}">{_tip(name, None, value)}</rect>'
        for group, mark in enumerate(self._chart.marks):
            if mark is not None:
                ends = f"M{self._x(group):.1f} {self._y(mark):.1f}H{self._x(group + 1):.1f}"
                yield f'<path d="{ends}" stroke="#202328" stroke-dasharray="4 3"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}'
    return f"<text {where}>{html.escape(text)}</text>"


def _tip(name: str, x: float | None, y: float) -> str:
    where = f"{y:.4g}" if x is None else f"{y:.4g} at {x:.4g}"
    return f"<title>{html.escape(name)}: {where}</title>"


def _steps(low: float, high: float) -> list[float]:
    """Round numbers within a range, five or so."""
    raw = (high - low) / 5
    if not raw > 0 or not isfinite(raw):
        return [low]
    unit = 10.0 ** floor(log10(raw))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw * 0.999)
    first = -floor(-low / step)
    count = floor((high - first * step) / step * (1 + 1e-9)) + 1
    return [round((first + k) * step, 12) for k in range(count)]
