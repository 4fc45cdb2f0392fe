"""Line and bar charts below each other, as a page or a picture."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.report.figures import drawn, new_figure, plain
from surplus.engine.report.palette import COLOURS

_WIDTH_INCHES = 9.0
_CHART_INCHES = 3.8
_DASHES = ("-", "--", ":", "-.")
"""Lines beyond the colours are told apart by them."""
_SLOT = 0.84
"""How much of its place on the axis a group of bars fills."""


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
    """Draw charts below each other, whole or not at all; equal input gives equal files.

    Parameters
    ----------
    path : Path
        ``.svg``, ``.png``, or a page that holds the picture.
    """
    suffix = path.suffix.lower()
    picture = drawn(_figure(charts, title), "png" if suffix == ".png" else "svg")
    write_atomic(path, picture if suffix in (".svg", ".png") else _page(picture, title))


def _page(svg: bytes, title: str) -> bytes:
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
    picture = svg[svg.index(b"<svg") :]
    start = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n'.encode()
    return start + picture + b"</body></html>\n"


def _figure(charts: Sequence[Chart], title: str) -> Any:
    figure = new_figure(_WIDTH_INCHES, _CHART_INCHES * len(charts))
    figure.suptitle(plain(title), fontsize=13, fontweight="bold", x=0.01, ha="left")
    panels = figure.subplots(len(charts), 1, squeeze=False).ravel()
    for axes, chart in zip(panels, charts, strict=True):
        (_draw_bars if chart.categories else _draw_lines)(axes, chart)
        _finish(axes, chart)
    return figure


def _draw_lines(axes: Any, chart: Chart) -> None:
    for place, row in enumerate(chart.series):
        points = sorted(point for point in row.points if isfinite(point[1]))
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            marker="o",
            markersize=3,
            color=_colour(place),
            linestyle=_DASHES[place // len(COLOURS) % len(_DASHES)],
            label=plain(row.name),
        )


def _draw_bars(axes: Any, chart: Chart) -> None:
    wide = _SLOT / max(1, len(chart.series))
    for place, row in enumerate(chart.series):
        left = [group + (1 - _SLOT) / 2 + place * wide for group, _ in row.points]
        heights = [value for _, value in row.points]
        axes.bar(
            left, heights, wide * 0.9, align="edge", color=_colour(place), label=plain(row.name)
        )
    for group, mark in enumerate(chart.marks):
        if mark is not None:
            axes.hlines(mark, group, group + 1, colors="#202328", linestyles="--", linewidth=1)
    places = [group + 0.5 for group in range(len(chart.categories))]
    axes.set_xticks(places, [plain(name) for name in chart.categories])
    axes.set_xlim(0, len(chart.categories))


def _finish(axes: Any, chart: Chart) -> None:
    axes.set_ylim(0, chart.y_most)
    axes.set_title(plain(chart.title), loc="left", fontsize=11)
    axes.set_xlabel(plain(chart.x_label))
    axes.set_ylabel(plain(chart.y_label))
    axes.grid(axis="y", color="#e3e5e9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if chart.series:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]
