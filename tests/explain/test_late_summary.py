"""Late queries summed up: shares, causes and sentences that name them."""

from __future__ import annotations

import pytest

from surplus.engine.explain.categories import Category
from surplus.engine.explain.flights import LaneKind
from surplus.engine.explain.late_query import late_queries
from surplus.engine.explain.late_summary import LateSummary
from tests.explain.recordings import Recording, card

VAD, DETECTOR = 1, 2


def summary(made: Recording) -> LateSummary:
    return LateSummary.of("vad", late_queries(made.flights, "vad", 100))


@pytest.fixture
def made() -> Recording:
    vad = card(VAD, "vad", "lstm", service_ns=1_000_000)
    return Recording([vad, card(DETECTOR, "detector", "backbone", "head")], lanes=2)


def waited(made: Recording, count: int, lane: int = 1) -> None:
    """Queries that wait 10 ms for a detector's segment, and are 1 ms late."""
    for i in range(len(made.runs), len(made.runs) + count):
        base = 100_000_000 * i
        made.ran(DETECTOR, 1_000 + i, (base, base + 10_000_000), lane=lane)
        made.ran(DETECTOR, 2_000 + i, (base, base + 20_000_000), lane=1 - lane)
        made.ran(VAD, i, (base + 10_000_000, base + 11_000_000), lane=lane)
        made.ended(VAD, i, base, base + 11_000_000, due=base + 10_000_000)


def slow(made: Recording, count: int) -> None:
    """Queries that take 5 ms instead of one."""
    for i in range(len(made.runs), len(made.runs) + count):
        base = 100_000_000 * i
        made.ran(VAD, i, (base, base + 5_000_000))
        made.ended(VAD, i, base, base + 5_000_000, due=base + 4_000_000)


def test_the_most_frequent_cause_comes_first_with_its_share(made: Recording) -> None:
    waited(made, 9)
    slow(made, 2)
    found = summary(made)
    assert found.sentences == [
        "82 % of vad's 11 misses waited for detector's segment 'backbone' on lane 1 of cpu"
        " (10 ms on the mean)",
        "18 % of vad's 11 misses ran for longer than usual (4 ms on the mean)",
    ]
    first, second = found.causes
    assert (first.category, first.culprit, first.queries) == (
        Category.QUEUEING_OTHERS,
        "detector",
        9,
    )
    assert (first.waited_ns, first.segment, first.lanes) == (90_000_000, "backbone", (("cpu", 1),))
    assert (second.category, second.culprit, second.lanes) == (Category.SLOWER, "", ())


def test_shares_of_all_their_time_add_up(made: Recording) -> None:
    waited(made, 3)
    slow(made, 1)
    shares = summary(made).shares
    assert sum(share for *_, share in shares) == pytest.approx(1)
    assert shares[0] == (Category.QUEUEING_OTHERS, "detector", pytest.approx(30 / 38))


def test_several_lanes_are_named(made: Recording) -> None:
    waited(made, 2, lane=0)
    waited(made, 1, lane=1)
    assert "on lanes 0, 1 of cpu" in summary(made).sentences[0]


def test_what_is_not_known_is_said(made: Recording) -> None:
    waited(made, 1)
    made.ended(VAD, 77, 900_000_000, 950_000_000, due=901_000_000)
    found = summary(made)
    assert (len(found.queries), found.unknown) == (1, 1)
    assert found.sentences[-1] == "of 1 more not all is known any more"


def test_its_own_earlier_queries_and_those_that_take_the_place_are_named(made: Recording) -> None:
    made.lanes = 1
    made.ran(VAD, 5, (0, 10_000_000))
    made.ran(VAD, 6, (10_000_000, 10_500_000))
    made.ended(VAD, 6, 0, 10_500_000, due=5_000_000)
    assert "waited for their own model's segment 'lstm'" in summary(made).sentences[0]
    made.runs.clear()
    made.nodes.clear()
    made.ran(VAD, 7, (0, 9_000_000))
    made.ran(DETECTOR, 8, (100, 8_000_100), kind=LaneKind.BORROWED)
    made.ended(VAD, 7, 0, 9_000_000, due=5_000_000)
    assert (
        "were begun, and made way for detector's segment 'backbone' on lane 0 of cpu"
        in (summary(made).sentences[0])
    )


def test_none_late_is_nothing_said(made: Recording) -> None:
    assert (summary(made).sentences, summary(made).shares, summary(made).causes) == ([], [], [])
