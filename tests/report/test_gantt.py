import json
import re
import struct
import sys
from html.parser import HTMLParser

import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.report.gantt import write_gantt
from surplus.placement.timeline import Timeline


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.title, self._open = [], [], "", None
        self.scripts = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self._open = tag
        self.links += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, text):
        if self._open == "title":
            self.title += text
        if self._open == "script":
            self.scripts.append(text)


def _write(tmp_path, *arguments, **options):
    path = tmp_path / "g.html"
    write_gantt(path, *arguments, **options)
    return _Page(path.read_text())


def _data(page):
    return json.loads(page.scripts[0])


def test_the_page_stands_alone_and_holds_every_span(tmp_path, detector_like):
    page = _write(tmp_path, detector_like, title="Faster R-CNN")
    assert page.links == []
    assert "http" not in (tmp_path / "g.html").read_text()
    assert page.title == "Faster R-CNN"
    panel = _data(page)["panels"][0]
    assert panel["heading"] == "predicted by comm_sd (emulated device)"
    assert panel["makespan"] == detector_like.makespan_ns
    assert sum(len(row["spans"]) for row in panel["rows"]) == len(detector_like.spans) == 3300


def test_a_bar_carries_what_hovering_shows(tmp_path, make_span):
    span = make_span("conv1", 30, 70, ready_ns=10, query=4)
    data = _data(_write(tmp_path, Timeline.of([span], "measured")))
    assert data["panels"][0]["rows"][0]["spans"] == [[30, 70, 0, "conv1", 20, 4]]


def test_a_wide_bar_says_how_many_lanes_it_holds(tmp_path, make_span):
    data = _data(_write(tmp_path, Timeline.of([make_span("a", 0, 5, "cpu", (0, 1))], "measured")))
    assert [row["spans"][0][3] for row in data["panels"][0]["rows"]] == ["a (2 lanes)"] * 2
    assert data["categories"] == ["Conv"]


def test_what_the_end_waited_for_is_marked_and_rows_of_copies_are_known(tmp_path, make_span):
    spans = [
        make_span("a", 0, 30),
        make_span("beside", 0, 10, resource="gpu"),
        make_span("t", 30, 40, resource="cpu->gpu", ready_ns=30),
        make_span("b", 45, 60, resource="gpu", ready_ns=40),
    ]
    panel = _data(_write(tmp_path, Timeline.of(spans, "measured")))["panels"][0]
    marked = [panel["rows"][row]["spans"][place][3] for row, place in panel["critical"]]
    assert sorted(marked) == ["a", "b", "copy t"]
    assert [row["copies"] for row in panel["rows"]] == [False, False, True]
    several = [make_span("a", 0, 30), make_span("a", 30, 60, query=1)]
    assert _data(_write(tmp_path, Timeline.of(several, "measured")))["panels"][0]["critical"] == []


def test_predicted_is_above_measured_in_the_same_colours(tmp_path, make_span):
    predicted = Timeline.of([make_span("a", 0, 9, category="Relu")], "predicted by heft")
    measured = Timeline.of([make_span("a", 0, 5), make_span("b", 5, 9)], "measured")
    data = _data(_write(tmp_path, measured, predicted=predicted))
    assert [panel["heading"] for panel in data["panels"]] == ["predicted by heft", "measured"]
    assert data["categories"] == ["Conv", "Relu"]


def test_a_copy_is_called_by_its_tensor(tmp_path, make_span):
    data = _data(_write(tmp_path, Timeline.of([make_span("features", 0, 5, "gpu->host")], "m")))
    assert data["panels"][0]["rows"][0]["spans"][0][3] == "copy features"


@pytest.mark.parametrize(
    "name",
    ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--DATA-->", "\u2028"],
)
def test_names_cannot_escape_into_the_page(tmp_path, make_span, name):
    span = make_span(name, 0, 5, resource=name, category=name)
    page = _write(tmp_path, Timeline.of([span], name), title=name)
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert page.title == name
    assert _data(page)["panels"][0]["rows"][0]["spans"][0][3].removeprefix("copy ") == name
    assert _data(page)["panels"][0]["rows"][0]["label"] == name


def test_the_script_never_writes_markup(tmp_path, detector_like):
    script = _write(tmp_path, detector_like).scripts[1]
    assert not re.search(r"innerHTML|outerHTML|document\.write|insertAdjacent|eval\(", script)


def test_equal_timelines_give_equal_files(tmp_path, detector_like):
    for suffix in ("html", "png"):
        for name in ("a", "b"):
            write_gantt(tmp_path / f"{name}.{suffix}", detector_like)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_the_picture_is_a_png_that_grows_with_its_rows(tmp_path, make_span, detector_like):
    def size(*arguments, **options):
        write_gantt(tmp_path / "g.png", *arguments, **options)
        data = (tmp_path / "g.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        return struct.unpack(">II", data[16:24])

    small = size(Timeline.of([make_span("a$b$", 0, 5, resource="cpu$x$")], "measured"), title="$")
    tall = size(detector_like, predicted=detector_like, title="both")
    assert small[0] == tall[0]
    assert tall[1] > 2 * small[1]
    assert size(Timeline((), "measured"))[0] == small[0]


def test_without_matplotlib_the_error_says_what_to_do(tmp_path, monkeypatch, detector_like):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"png, unlike \.html, needs matplotlib: pip"):
        write_gantt(tmp_path / "g.png", detector_like)
    assert list(tmp_path.iterdir()) == []


def test_another_suffix_is_refused(tmp_path, detector_like):
    with pytest.raises(ConfigError, match=r"must be \.html or \.png"):
        write_gantt(tmp_path / "g.svg", detector_like)
