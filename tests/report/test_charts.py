"""Line and bar charts: well-formed, complete, the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from surplus.engine.report.charts import Chart, Series, to_html, write_charts
from surplus.engine.report.palette import COLOURS

LINES = Chart("<load>", "x", "y", (Series("a&b", ((1.0, 50.0), (2.0, 100.0))), Series("none", ())))
BARS = Chart(
    "p99",
    "",
    "ms",
    (Series("fcfs", ((0.0, 10.0), (1.0, 400.0))), Series("edf", ((1.0, 20.0),))),
    ("light", "heavy"),
    (30.0, None),
    y_most=100.0,
)


def figures(*charts: Chart) -> list[ET.Element]:
    page = to_html(charts, "t<i>tle")
    assert "<i>tle" not in page
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_every_point_of_a_line_is_there_with_its_value() -> None:
    (svg,) = figures(LINES)
    tips = [title.text for title in svg.iter("title")]
    assert tips == ["a&b: 50 at 1", "a&b: 100 at 2"]
    heights = [float(c.attrib["cy"]) for c in svg.iter("circle")]
    assert heights[0] > heights[1]


def test_bars_are_cut_at_the_end_of_the_axis() -> None:
    (svg,) = figures(BARS)
    heights = [float(bar.attrib["height"]) for bar in svg.iter("rect")]
    assert [title.text for title in svg.iter("title")] == [
        "fcfs, light: 10",
        "fcfs, heavy: 400",
        "edf, heavy: 20",
    ]
    assert heights[1] == pytest.approx(10 * heights[0], rel=0.01)
    assert heights[2] == pytest.approx(2 * heights[0], rel=0.02)
    dashed = [p for p in svg.iter("path") if "stroke-dasharray" in p.attrib]
    assert len(dashed) == 1


def test_charts_without_points() -> None:
    assert len(figures(Chart("empty", "x", "y", ()), Chart("bars", "", "y", (), ("a",)))) == 2


def test_more_lines_than_colours_are_dashed() -> None:
    many = tuple(Series(f"s{k}", ((0.0, 1.0), (1.0, 2.0))) for k in range(len(COLOURS) + 1))
    (svg,) = figures(Chart("many", "x", "y", many))
    assert len([p for p in svg.iter("path") if "stroke-dasharray" in p.attrib]) == 1


def test_equal_charts_are_equal_files(tmp_path: Path) -> None:
    paths = [tmp_path / "a.html", tmp_path / "b.html"]
    for path in paths:
        write_charts(path, [LINES, BARS], "title")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b"<script" not in paths[0].read_bytes()
