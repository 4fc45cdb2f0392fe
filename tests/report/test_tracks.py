import pytest

from surplus.engine.report.palette import COPY_COLOUR, legend, palette
from surplus.engine.report.tracks import heading, label_of, tracks
from surplus.placement.timeline import Timeline


def test_devices_come_first_with_a_row_per_lane_then_links(make_span):
    timeline = Timeline.of(
        [
            make_span("c", 0, 5, "gpu->host"),
            make_span("a", 0, 5, "cpu", (1,)),
            make_span("b", 0, 5, "cpu", (0,)),
            make_span("d", 0, 5, "gpu"),
        ],
        "measured",
    )
    assert [label for label, _ in tracks(timeline)] == [
        "cpu lane 0",
        "cpu lane 1",
        "gpu",
        "gpu->host",
    ]


def test_a_wide_span_is_in_each_of_its_lanes(make_span):
    wide = make_span("wide", 0, 5, "cpu", (0, 1))
    assert [spans for _, spans in tracks(Timeline.of([wide], "measured"))] == [[wide], [wide]]


def test_a_wide_span_says_how_wide_it_is_if_asked(make_span):
    wide = make_span("a", 0, 5, "cpu", (0, 1), queries=2)
    assert label_of(wide, width=True) == "a (2 lanes, 2 queries)"
    assert label_of(wide) == "a (2 queries)"
    assert label_of(make_span("t", 0, 5, "gpu->host"), width=True) == "copy t"


def test_copies_that_overlap_get_rows_of_their_own(make_span):
    copies = [make_span(f"t{i}", i * 10, i * 10 + 15, "gpu->host") for i in range(4)]
    found = tracks(Timeline.of(copies, "measured"))
    assert [label for label, _ in found] == ["gpu->host", "gpu->host (+1)"]
    assert [[span.name for span in spans] for _, spans in found] == [["t0", "t2"], ["t1", "t3"]]


@pytest.mark.parametrize(
    ("origin", "resource", "expected"),
    [
        ("measured", "cpu", "measured"),
        ("predicted by comm_sd", "cpu", "predicted by comm_sd"),
        ("heft", "cpu", "predicted by heft"),
        ("measured", "emulated:gpu", "measured (emulated device)"),
        (
            "measured (with an emulated device)",
            "emulated:gpu",
            "measured (with an emulated device)",
        ),
    ],
)
def test_the_heading_says_where_the_times_come_from(make_span, origin, resource, expected):
    assert heading(Timeline.of([make_span("a", 0, 1, resource)], origin)) == expected


def test_types_with_most_time_get_hues_and_the_rest_is_one_grey_entry(make_span):
    spans = [make_span(str(i), 0, i + 1, category=f"Op{i:02}") for i in range(20)]
    spans.append(make_span("t", 0, 900, "a->b"))
    colours = palette([Timeline.of(spans, "measured")])
    assert next(iter(colours)) == "Op19"
    assert len(set(colours.values())) == 13
    labels = [label for label, _ in legend(colours)]
    assert labels[-2:] == ["other (9 types)", "copy"]
    assert colours["copy"] == COPY_COLOUR


def test_an_empty_timeline_has_no_rows_and_no_legend():
    empty = Timeline((), "measured")
    assert tracks(empty) == []
    assert legend(palette([empty])) == []
