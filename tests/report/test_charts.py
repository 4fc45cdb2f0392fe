"""Line and bar charts: every point is drawn, cut where it is said, the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from surplus.engine.report.charts import Chart, Series, write_charts
from surplus.engine.report.palette import COLOURS

SVG = "{http://www.w3.org/2000/svg}"
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


def figure(folder: Path, *charts: Chart) -> ET.Element:
    path = folder / "charts.svg"
    write_charts(path, charts, "t<i>tle $1$")
    return ET.fromstring(path.read_bytes())


def words(svg: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def coloured(svg: ET.Element, colour: str) -> list[ET.Element]:
    return [one for one in svg.iter() if colour in one.attrib.get("style", "")]


def bar_heights(svg: ET.Element, colour: str) -> list[float]:
    """Of the bars in their order, from the corners of their paths; the legend's patch is none."""
    heights = []
    for bar in coloured(svg, f"fill: {colour}"):
        ys = [float(y) for y in re.findall(r"[ML] [-.\d]+ ([-.\d]+)", bar.attrib.get("d", ""))]
        heights.append(max(ys) - min(ys))
    return heights[:-1]


def test_every_word_and_point_of_a_line_is_there(tmp_path: Path) -> None:
    svg = figure(tmp_path, LINES)
    assert {"<load>", "a&b", "none", "x", "y", "t<i>tle $1$"} <= set(words(svg))
    ends = next(
        re.findall(r"[ML] ([-.\d]+) ([-.\d]+)", one.attrib["d"])
        for one in coloured(svg, f"stroke: {COLOURS[0]}")
        if one.attrib.get("d", "").count("L") == 1
    )
    (left, low), (right, high) = [(float(x), float(y)) for x, y in ends]
    assert left < right
    assert low > high


def test_bars_are_as_high_as_their_values_and_reach_over_the_end_of_the_axis(
    tmp_path: Path,
) -> None:
    svg = figure(tmp_path, BARS)
    light, heavy = bar_heights(svg, COLOURS[0])
    (edf,) = bar_heights(svg, COLOURS[1])
    assert heavy == pytest.approx(40 * light, rel=0.02)
    assert edf == pytest.approx(2 * light, rel=0.02)
    assert {"light", "heavy", "100"} <= set(words(svg))
    assert len([one for one in svg.iter() if "dasharray" in one.attrib.get("style", "")]) == 1


def test_charts_without_points(tmp_path: Path) -> None:
    figure(tmp_path, Chart("empty", "x", "y", ()), Chart("bars", "", "y", (), ("a",)))


def test_more_lines_than_colours_are_dashed(tmp_path: Path) -> None:
    many = tuple(Series(f"s{k}", ((0.0, 1.0), (1.0, 2.0))) for k in range(len(COLOURS) + 1))
    svg = figure(tmp_path, Chart("many", "x", "y", many))
    dashed = [one for one in coloured(svg, COLOURS[0]) if "dasharray" in one.attrib["style"]]
    assert dashed


@pytest.mark.parametrize("suffix", ["html", "svg", "png"])
def test_equal_charts_are_equal_files(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    for path in paths:
        write_charts(path, [LINES, BARS], "t<i>tle")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b"<script" not in paths[0].read_bytes()
    if suffix == "html":
        assert b"<title>t&lt;i&gt;tle</title>" in paths[0].read_bytes()
    if suffix == "png":
        with Image.open(paths[0]) as picture:
            assert picture.width > 1000
