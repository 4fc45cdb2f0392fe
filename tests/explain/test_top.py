"""The last seconds of a machine, worked out by hand."""

from __future__ import annotations

import pytest

from surplus.engine.explain.flights import FAILED, LaneKind, PlanCard
from surplus.engine.explain.lane_traffic import lane_traffic
from surplus.engine.explain.top import document_of, top_of
from surplus.engine.explain.traffic import ModelTraffic, traffic_of
from tests.explain.recordings import Recording, card

VAD, DETECTOR = 1, 2
SECOND_NS = 1_000_000_000


@pytest.fixture
def made() -> Recording:
    cards = [card(VAD, "vad", "lstm", due_after_ns=50), card(DETECTOR, "detector", "backbone")]
    return Recording(cards, lanes=2, now_ns=SECOND_NS)


def traffic(made: Recording, most: int = 0) -> dict[str, ModelTraffic]:
    return {row.model: row for row in traffic_of(made.flights, most)}


def test_rates_percentiles_and_misses(made: Recording) -> None:
    for i in range(100):
        made.ended(VAD, i, 1_000, 1_001 + i, due=1_000 + 95)
    made.ended(VAD, 100, 1_000, 1_500, outcome=FAILED)
    row = traffic(made)["vad"]
    assert (row.queries, row.misses, row.failed, row.due_after_ns) == (101, 5, 1, 50)
    assert row.rate_per_s == pytest.approx(101)
    assert [row.percentile_ns(p) for p in (50, 99, 100)] == [51, 100, 500]
    idle = traffic(made)["detector"]
    assert (idle.queries, idle.rate_per_s, idle.percentile_ns(50)) == (0, 0, None)


def test_a_window_is_shorter_where_older_runs_were_lost(made: Recording) -> None:
    made.ended(VAD, 0, 0, SECOND_NS // 2)
    made.lost_before_ns[VAD] = SECOND_NS // 2
    row = traffic(made)["vad"]
    assert (row.window_ns, row.rate_per_s) == (SECOND_NS // 2, 2)


def test_all_plans_of_a_model_are_one_row_and_gone_ones_without_queries_none(
    made: Recording,
) -> None:
    older = PlanCard(7, "vad", (), is_gone=True)
    made.cards = [*made.cards, older, PlanCard(8, "unloaded", (), is_gone=True)]
    made.ended(7, 0, 0, 10)
    made.ended(VAD, 1, 0, 20)
    assert {name: row.queries for name, row in traffic(made).items()} == {"detector": 0, "vad": 2}


def test_who_waits_for_whom(made: Recording) -> None:
    made.lanes = 1
    made.ran(DETECTOR, 0, (0, 60))
    made.ran(VAD, 1, (60, 80))
    made.ended(DETECTOR, 0, 0, 60)
    made.ended(VAD, 1, 0, 80, due=50)
    rows = traffic(made, most=10)
    assert rows["vad"].waits == [("detector", 0.75)]
    assert (rows["vad"].explained, rows["detector"].waits) == (1, [])
    assert traffic(made, most=0)["vad"].explained == 0


def test_late_ones_are_explained_first(made: Recording) -> None:
    made.lanes = 1
    made.ran(DETECTOR, 0, (0, 60))
    made.ran(VAD, 1, (60, 80))
    made.ended(VAD, 1, 0, 80, due=50)
    made.ran(VAD, 2, (100, 120))
    made.ended(VAD, 2, 100, 120, due=150)
    assert traffic(made, most=1)["vad"].waits == [("detector", 0.75)]


def test_lanes_say_for_whom_they_were_busy(made: Recording) -> None:
    made.now_ns = 100
    made.ran(DETECTOR, 0, (0, 80))
    made.ran(VAD, 1, (20, 30), kind=LaneKind.BORROWED)
    made.ran(DETECTOR, 2, (0, 50), kind=LaneKind.BEST_EFFORT)
    first, best_effort, second = lane_traffic(made.flights)[:1] + sorted(
        lane_traffic(made.flights)[1:], key=lambda lane: not lane.is_best_effort
    )
    assert (first.busy_ns, first.lent_ns, first.busy_share) == (80, 10, 0.8)
    assert dict(first.models) == {"detector": 80, "vad": 10}
    assert (second.lane, second.busy_ns) == (1, 0)
    assert (best_effort.is_best_effort, best_effort.lane, best_effort.busy_ns) == (True, 0, 50)
    top = top_of(made.flights, 0)
    assert top.background_share == 0.25


def test_a_wide_node_takes_as_many_lanes(made: Recording) -> None:
    made.cards = [card(VAD, "vad", "lstm", width=2)]
    made.ran(VAD, 1, (0, 500), lane=1)
    assert [lane.busy_ns for lane in lane_traffic(made.flights)] == [500, 500]


def test_a_lane_is_looked_at_since_its_records_are_there(made: Recording) -> None:
    made.reaches_ns[0, 0] = SECOND_NS - 100
    made.ran(DETECTOR, 0, (0, SECOND_NS))
    assert lane_traffic(made.flights)[0].busy_share == 1
    assert lane_traffic(made.flights)[0].window_ns == 100


def test_the_document_is_plain(made: Recording) -> None:
    made.ran(VAD, 1, (0, 10))
    made.ended(VAD, 1, 0, 10, due=5)
    (machine,) = document_of([top_of(made.flights, 5)])["machines"]
    assert machine["devices"] == ["cpu"]
    assert [row["model"] for row in machine["models"]] == ["detector", "vad"]
    vad = machine["models"][1]
    assert (vad["due_after_ns"], vad["misses"], vad["latency_ns"]["p50"]) == (50, 1, 10)
    assert [lane["lane"] for lane in machine["lanes"]] == [0, 1]
