"""Late queries worked out by hand: every nanosecond has a category, and a culprit where one was."""

from __future__ import annotations

import random

import pytest

from surplus.engine.explain.categories import Category
from surplus.engine.explain.flights import CANCELLED, ENDED_LATE, FlownRun, LaneKind
from surplus.engine.explain.flown_spans import QUERY, spans_of
from surplus.engine.explain.late_query import LateQuery, explain_query, late_queries
from tests.explain.recordings import Recording, card

VAD, DETECTOR, TEXT = 1, 2, 3


def recording(*names: str, lanes: int = 1, service_ns: int = 0) -> Recording:
    """Of a model ``vad`` with such nodes, beside two others."""
    vad = card(VAD, "vad", *(names or ("lstm",)), service_ns=service_ns)
    return Recording(
        [vad, card(DETECTOR, "detector", "backbone", "head"), card(TEXT, "text", "encoder")], lanes
    )


def explained(made: Recording, run: FlownRun) -> LateQuery:
    found = explain_query(made.flights, run)
    assert found.stretches[0].start_ns == 0
    assert all(a.end_ns == b.start_ns for a, b in zip(found.stretches, found.stretches[1:]))  # noqa: B905
    assert sum(found.parts.values()) == run.latency_ns
    return found


def parts(found: LateQuery) -> dict[str, int]:
    return {
        f"{category}" + (f" {who.model}/{who.segment}@{who.lane}" if who else ""): ns
        for (category, who), ns in found.parts.items()
    }


def test_a_query_that_waited_for_anothers_segment_names_it() -> None:
    made = recording()
    made.ran(DETECTOR, 0, (90, 180))
    made.ran(VAD, 1, (182, 200))
    run = made.ended(VAD, 1, begun=100, end=201, due=150)
    found = explained(made, run)
    assert parts(found) == {
        "queueing_others detector/backbone@0": 80,
        "service": 18,
        "submission": 2,
        "completion": 1,
    }
    assert (found.model, found.run.late_ns, found.is_whole) == ("vad", 51, True)
    category, who = found.cause
    assert category is Category.QUEUEING_OTHERS
    assert who is not None
    assert (who.model, who.segment, who.device, who.lane) == ("detector", "backbone", "cpu", 0)


def test_each_of_several_that_were_in_the_way_has_its_part() -> None:
    made = recording()
    made.ran(DETECTOR, 0, (90, 130))
    made.ran(TEXT, 2, (130, 190))
    made.ran(VAD, 1, (190, 200))
    found = explained(made, made.ended(VAD, 1, 100, 200, due=120))
    assert parts(found) == {
        "queueing_others text/encoder@0": 60,
        "queueing_others detector/backbone@0": 30,
        "service": 10,
    }


def test_the_lane_on_which_it_began_at_last_says_for_whom_it_waited() -> None:
    made = recording(lanes=2)
    made.ran(TEXT, 0, (90, 300), lane=0)
    made.ran(DETECTOR, 2, (90, 180), lane=1)
    made.ran(VAD, 1, (180, 190), lane=1)
    found = explained(made, made.ended(VAD, 1, 100, 190, due=150))
    assert parts(found) == {"queueing_others detector/backbone@1": 80, "service": 10}


def test_waits_between_its_slices_are_told_apart() -> None:
    made = recording("a", "b")
    made.ran(VAD, 1, (100, 110))
    made.ran(TEXT, 2, (110, 150))
    made.ran(VAD, 1, (150, 170), first=1)
    found = explained(made, made.ended(VAD, 1, 100, 170, due=130))
    assert parts(found) == {"queueing_others text/encoder@0": 40, "service": 30}
    assert found.between_ns == 40


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_wait_for_another_process_names_it(lanes: int) -> None:
    made = recording("a", "b", lanes=lanes)
    made.waited(VAD, 1, (104, 150))
    made.ran(VAD, 1, (151, 160))
    made.waited(VAD, 1, (162, 170))
    made.ran(VAD, 1, (170, 180), first=1)
    found = explained(made, made.ended(VAD, 1, 100, 180, due=130))
    assert parts(found) == {
        "elsewhere process other (7)/@0": 54,
        "service": 19,
        "submission": 5,
        "dispatch": 2,
    }
    assert found.between_ns == 8
    assert found.is_whole


def test_who_waits_behind_a_lane_that_waits_for_another_process_waited_for_that() -> None:
    made = recording()
    made.waited(DETECTOR, 2, (90, 150))
    made.ran(DETECTOR, 2, (150, 170))
    made.ran(VAD, 1, (170, 180))
    found = explained(made, made.ended(VAD, 1, 100, 180, due=130))
    assert parts(found) == {
        "elsewhere process other (7)/@0": 50,
        "queueing_others detector/backbone@0": 20,
        "service": 10,
    }


def test_another_lanes_wait_for_a_process_is_not_this_querys() -> None:
    made = recording(lanes=2)
    made.waited(DETECTOR, 2, (90, 150), lane=1)
    made.ran(DETECTOR, 2, (150, 170), lane=1)
    made.ran(VAD, 1, (110, 120), lane=0)
    assert parts(explained(made, made.ended(VAD, 1, 100, 120))) == {"submission": 10, "service": 10}


def test_a_lent_place_is_pre_emption_and_not_service() -> None:
    made = recording()
    made.ran(VAD, 1, (100, 200))
    made.ran(DETECTOR, 2, (120, 140), (140, 150), kind=LaneKind.BORROWED)
    found = explained(made, made.ended(VAD, 1, 100, 200, due=180))
    assert parts(found) == {
        "service": 70,
        "preempted detector/backbone@0": 20,
        "preempted detector/head@0": 10,
    }
    assert found.cause[0] is Category.PREEMPTED


def test_who_borrows_a_place_is_not_pre_empted_by_who_lent_it() -> None:
    made = recording()
    made.ran(DETECTOR, 2, (90, 300))
    made.ran(VAD, 1, (120, 140), kind=LaneKind.BORROWED)
    found = explained(made, made.ended(VAD, 1, 100, 140, due=130))
    assert parts(found) == {"queueing_others detector/backbone@0": 20, "service": 20}


def test_a_lent_lane_is_one_lane() -> None:
    made = recording(lanes=2)
    made.ran(DETECTOR, 2, (90, 300), lane=0)
    made.ran(TEXT, 3, (95, 200), lane=0, kind=LaneKind.BORROWED)
    made.ran(VAD, 1, (110, 120), lane=1)
    found = explained(made, made.ended(VAD, 1, 100, 120))
    assert parts(found) == {"submission": 10, "service": 10}
    assert len(found.timeline.spans) == 3


def test_who_is_left_with_a_lent_lane_holds_it() -> None:
    made = recording()
    made.ran(DETECTOR, 2, (90, 110))
    made.ran(TEXT, 3, (95, 130), kind=LaneKind.BORROWED)
    made.ran(VAD, 1, (130, 140))
    found = explained(made, made.ended(VAD, 1, 100, 140, due=110))
    assert parts(found) == {"queueing_others text/encoder@0": 30, "service": 10}


def test_service_beyond_the_usual_is_told_apart() -> None:
    made = recording()
    for i in range(5):
        made.ran(VAD, 10 + i, (1_000 + 100 * i, 1_020 + 100 * i))
    made.ran(VAD, 1, (100, 150))
    found = explained(made, made.ended(VAD, 1, 100, 150, due=130))
    assert parts(found) == {"slower": 30, "service": 20}
    assert found.cause == (Category.SLOWER, None)


def test_the_plan_says_what_is_usual_until_enough_was_recorded() -> None:
    made = recording(service_ns=40)
    made.ran(VAD, 1, (100, 150))
    assert parts(explained(made, made.ended(VAD, 1, 100, 150))) == {"service": 40, "slower": 10}


def test_who_takes_longer_alone_than_it_may_waited_for_nobody() -> None:
    made = recording()
    made.ran(DETECTOR, 0, (90, 110))
    made.ran(VAD, 1, (110, 200))
    found = explained(made, made.ended(VAD, 1, 100, 200, due=150))
    assert found.cause == (Category.SERVICE, None)


def test_a_query_that_was_ended_in_the_queue_waited_until_then() -> None:
    made = recording("a", "b")
    made.ran(DETECTOR, 0, (90, 400))
    run = made.ended(VAD, 1, 100, 150, due=150, outcome=ENDED_LATE)
    found = explained(made, run)
    assert parts(found) == {"queueing_others detector/backbone@0": 50}
    assert found.is_whole


def test_records_that_were_lost_are_not_taken_for_waits() -> None:
    made = recording("a", "b")
    made.ran(VAD, 1, (150, 160), first=1)
    assert not explained(made, made.ended(VAD, 1, 100, 160, due=120)).is_whole
    made.reaches_ns[0, 0] = 110
    ended = made.ended(VAD, 2, 100, 150, due=150, outcome=CANCELLED)
    assert not explained(made, ended).is_whole
    unknown = Recording([])
    unknown.ran(7, 1, (100, 120))
    found = explained(unknown, unknown.ended(7, 1, 100, 120, due=110))
    assert (found.model, found.is_whole) == ("plan 7", False)


def test_best_effort_lanes_are_not_those_of_others() -> None:
    made = recording()
    made.ran(TEXT, 0, (90, 300), kind=LaneKind.BEST_EFFORT)
    made.ran(VAD, 1, (105, 115))
    assert parts(explained(made, made.ended(VAD, 1, 100, 115))) == {"service": 10, "submission": 5}


def test_only_late_queries_of_the_model_are_found_the_last_ones() -> None:
    made = recording()
    for i in range(4):
        made.ran(VAD, i, (100 * i, 100 * i + 10))
        made.ended(VAD, i, 100 * i, 100 * i + 10, due=100 * i + (5 if i else 50))
    made.ran(TEXT, 9, (900, 910))
    made.ended(TEXT, 9, 900, 910, due=901)
    assert [q.run.arrival for q in late_queries(made.flights, "vad", 2)] == [2, 3]
    assert late_queries(made.flights, "nobody", 2) == []


@pytest.mark.parametrize("seed", range(30))
def test_parts_add_up_whatever_was_recorded(seed: int) -> None:
    rng = random.Random(seed)
    made = recording("a", "b", "c", lanes=rng.randint(1, 3), service_ns=rng.choice([0, 15]))
    for arrival in range(2, 30):
        start = rng.randrange(400)
        plan = rng.choice([DETECTOR, TEXT, 9])
        kind = rng.choice(list(LaneKind))
        lane = rng.randrange(made.lanes)
        made.ran(plan, arrival, (start, start + rng.randrange(1, 90)), lane=lane, kind=kind)
    times = sorted(rng.randrange(100, 500) for _ in range(6))
    made.ran(VAD, 1, *zip(times[::2], times[1::2], strict=True), lane=rng.randrange(made.lanes))
    run = made.ended(VAD, 1, 100, times[-1] + rng.randrange(5), due=rng.randrange(80, 300))
    found = explained(made, run)
    for (category, who), _ in found.parts.items():
        assert who is None or category in (
            Category.QUEUEING_OTHERS,
            Category.PREEMPTED,
            Category.SEATS,
            Category.GATE,
        )


def test_queries_of_one_call_say_how_many_they_are() -> None:
    made = recording(lanes=2)
    for arrival in range(3):
        made.ran(VAD, arrival, (100, 180))
    made.ran(VAD, 3, (100, 180), lane=1)
    made.ran(TEXT, 4, (180, 200))
    run = made.ended(VAD, 1, begun=90, end=180, due=150)
    found = spans_of(made.flights, run)
    queries = {(span.category, span.lanes, span.query): span.queries for span in found.spans}
    assert queries == {
        ("vad", (0,), QUERY): 3,
        ("vad", (0,), 1): 3,
        ("vad", (0,), 3): 3,
        ("vad", (1,), 4): 1,
    }
