"""Timelines worked out by hand: each category of breakdown where it belongs, to the nanosecond."""

from __future__ import annotations

from typing import Any

import pytest

from surplus.engine.explain.breakdown import Breakdown, breakdown, median_of
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.explain.causes import Causes
from surplus.engine.explain.utilisation import LaneUse
from surplus.placement.timeline import Span, SpanKind, Timeline

CPU = {"cpu": 2}


def span(index: int, ready: int, start: int, end: int, *lanes: int, **fields: Any) -> Span:
    row: dict[str, Any] = {
        "kind": SpanKind.SEGMENT,
        "name": f"s{index}",
        "category": "Conv",
        "resource": "cpu",
    } | fields
    return Span(
        index=index,
        lanes=lanes or (0,),
        ready_ns=ready,
        start_ns=start,
        end_ns=end,
        **row,
    )


def copy(name: str, ready: int, start: int, end: int, **fields: Any) -> Span:
    row = {"kind": SpanKind.COPY, "name": name, "category": "copy", "resource": "host->gpu"}
    return span(0, ready, start, end, **row | fields)


def broken_down(*spans: Span, **options: Any) -> Breakdown:
    return breakdown(Timeline.of(spans, "measured"), **{"lanes": CPU} | options)


def parts(found: Breakdown) -> dict[str, int]:
    return {f"{category} {where}".strip(): ns for (category, where), ns in found.parts.items()}


def test_service_and_the_hand_over_between_lanes() -> None:
    found = broken_down(span(0, 0, 0, 100), span(1, 103, 110, 150, 1))
    assert parts(found) == {"service cpu": 140, "dispatch cpu": 10}
    assert [s.name for s in found.path] == ["s0", "s1"]


def test_queueing_behind_segments_of_the_same_query() -> None:
    # Both lanes are held until 70; then lane 1 is free, and it takes 5 ns to start.
    found = broken_down(
        span(0, 0, 0, 20),
        span(1, 20, 20, 90, 0),
        span(2, 0, 0, 70, 1),
        span(3, 20, 75, 200, 1),
        causes={0: [], 1: [0], 2: [], 3: [0]},
    )
    assert parts(found) == {"service cpu": 145, "queueing cpu": 50, "dispatch cpu": 5}
    assert [s.name for s in found.path] == ["s0", "s3"]


def test_queueing_behind_another_query() -> None:
    # Until 30 either query holds a lane; then one is free, and nothing starts for 30 ns.
    rows = [span(0, 0, 0, 30), span(1, 0, 60, 100, 1), span(9, 0, 0, 60, 1, query=1)]
    causes: Causes = {0: [], 1: []}
    assert parts(broken_down(*rows, causes=causes)) == {
        "service cpu": 40,
        "queueing_others cpu": 30,
        "dispatch cpu": 30,
    }


def test_the_other_query_has_breakdown_of_its_own() -> None:
    rows = [span(0, 0, 0, 30), span(9, 10, 40, 90, query=1)]
    call = CallTimes(5, 10, 90, 90)
    found = broken_down(*rows, lanes={"cpu": 1}, query=1, call=call)
    assert parts(found) == {
        "service cpu": 50,
        "queueing_others cpu": 20,
        "submission": 10,
        "python_in": 5,
    }


def test_a_wide_segment_waits_for_seats() -> None:
    # Ready at 10: both lanes are held until 20, one until 50.
    found = broken_down(
        span(0, 0, 0, 10),
        span(1, 0, 0, 50, 1),
        span(2, 10, 10, 20),
        span(3, 10, 52, 100, 0, 1),
        causes={0: [], 1: [], 2: [0], 3: [0]},
    )
    assert parts(found) == {
        "service cpu": 58,
        "queueing cpu": 10,
        "seats cpu": 30,
        "dispatch cpu": 2,
    }


def test_a_narrow_segment_waits_at_the_gate_of_a_wide_one() -> None:
    # Lane 0 is free from 10 on, but kept for the wide segment, which goes first.
    rows = [
        span(0, 0, 0, 10),
        span(1, 0, 0, 40, 1),
        span(2, 10, 40, 60, 0, 1),
        span(3, 10, 60, 100),
    ]
    causes: Causes = {0: [], 1: [], 2: [0], 3: [0]}
    found = broken_down(*rows, causes=causes)
    assert parts(found) == {"service cpu": 50, "queueing cpu": 20, "gate cpu": 30}


def test_what_starts_later_kept_no_gate_shut() -> None:
    rows = [
        span(0, 0, 0, 10),
        span(1, 0, 0, 70, 1),
        span(2, 10, 30, 50),
        span(3, 10, 70, 90, 0, 1),
    ]
    found = broken_down(*rows[:3], span(4, 50, 50, 95), rows[3], causes={4: [2], 2: [0], 0: []})
    assert parts(found) == {"service cpu": 75, "dispatch cpu": 20}


def test_copies_queue_on_their_link_and_hide_their_latency_there() -> None:
    # Each copy holds the link for 10 and arrives 5 later.
    found = broken_down(
        span(0, 0, 0, 20),
        copy("a", 20, 20, 35),
        copy("b", 20, 30, 45),
        span(1, 45, 50, 60, resource="gpu"),
        lanes={"cpu": 2, "gpu": 1},
        causes={0: [], ("a", "host->gpu"): [0], ("b", "host->gpu"): [0], 1: [("b", "host->gpu")]},
    )
    assert parts(found) == {
        "service cpu": 20,
        "service gpu": 10,
        "copy host->gpu": 15,
        "queueing host->gpu": 10,
        "dispatch gpu": 5,
    }


def test_the_callers_side_lies_around() -> None:
    call = CallTimes(entered_ns=-30, handed_ns=-10, returned_ns=125, left_ns=150)
    found = broken_down(span(0, 0, 7, 100), call=call)
    assert parts(found) == {
        "service cpu": 93,
        "submission": 17,
        "completion": 25,
        "python_in": 20,
        "python_out": 25,
    }
    assert [piece.category.value for piece in found.pieces] == [
        "python_in",
        "submission",
        "service",
        "completion",
        "python_out",
    ]
    assert found.total_ns == 180
    assert found.share(next(iter(found.parts))) == pytest.approx(93 / 180)


def test_a_root_that_starts_late_waits_for_dispatch_once_the_query_runs() -> None:
    found = broken_down(span(0, 0, 10, 20), span(1, 0, 40, 90, 1), causes={0: [], 1: []})
    assert parts(found) == {"service cpu": 50, "dispatch cpu": 30, "submission": 10}


def test_causes_decide_between_spans_that_end_together() -> None:
    rows = [span(0, 0, 0, 50, 0), span(1, 0, 0, 50, 0, resource="gpu"), span(2, 50, 50, 60, 1)]
    for cause, where in ((0, "cpu"), (1, "gpu")):
        found = broken_down(*rows, causes={2: [cause]})
        assert parts(found)[f"service {where}"] >= 50
        assert found.path[0].index == cause


def test_nothing_ran() -> None:
    assert (broken_down().total_ns, broken_down().parts, broken_down().path) == (0, {}, ())
    found = broken_down(call=CallTimes(-5, 0, 10, 11))
    assert parts(found) == {"completion": 10, "python_in": 5, "python_out": 1}
    assert found.lanes == (LaneUse("cpu", 0, 0, 16), LaneUse("cpu", 1, 0, 16))


def test_spans_without_duration_end_the_walk() -> None:
    found = broken_down(span(0, 5, 5, 5), span(1, 5, 5, 5, 1), span(2, 5, 5, 9))
    assert found.total_ns == 9
    assert len(found.path) == 3


def test_lanes_and_links_add_up_to_the_total() -> None:
    call = CallTimes(-10, 0, 100, 110)
    found = broken_down(
        span(0, 0, 0, 60, 0, 1),
        span(1, 60, 60, 100, 1),
        copy("a", 0, 0, 30),
        copy("b", 0, 20, 50),
        call=call,
    )
    assert found.lanes == (
        LaneUse("cpu", 0, 60, 60),
        LaneUse("cpu", 1, 100, 20),
        LaneUse("host->gpu", None, 50, 70),
    )


def test_lanes_are_counted_where_they_are_not_said() -> None:
    found = broken_down(span(0, 0, 0, 10, 2), lanes=None)
    assert [use.lane for use in found.lanes] == [0, 1, 2]


def test_the_median_is_one_of_the_runs() -> None:
    runs = [broken_down(span(0, 0, 0, end)) for end in (40, 10, 30, 20)]
    assert median_of(runs) is runs[3]
    with pytest.raises(ValueError, match="at least one"):
        median_of([])


def test_call_times_go_forward() -> None:
    with pytest.raises(ValueError, match=r"backwards: \(0, 5, 4, 6\)"):
        CallTimes(0, 5, 4, 6)
