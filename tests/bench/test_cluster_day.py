"""The day of a cluster: contenders serve the same queries, references are judged fairly."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cluster.contenders import CONTENDERS, FROM_NOTHING, REFERENCES
from bench.cluster.day import FULL, day_of, planning, ratios, served
from surplus.cluster import CLUSTER_PLANNERS
from surplus.cluster.bounds.least_nodes import least_cost


@pytest.mark.parametrize("contender", CONTENDERS)
def test_a_contender_serves_a_day(contender: str) -> None:
    day = day_of(nodes=10, models=12, minutes=6, seed=3)
    row = served(day, 10, contender, next(iter(CONTENDERS[contender])))
    assert row["in time %"] > 50
    assert row["bound, node hours"] <= row["node hours"] <= row["most nodes"] / 10


def test_the_busiest_minute_fills_its_part_of_the_cluster() -> None:
    day = day_of(nodes=10, models=12, minutes=30, seed=3)
    hours = [least_cost(rates * 3600, day.prices, 1.0) for rates in day.rates_per_s]
    assert max(hours) == pytest.approx(FULL * 10)


def test_days_are_drawn_from_their_seed() -> None:
    one, same, other = (day_of(10, 12, 6, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.counts, same.counts)
    assert not np.array_equal(one.counts, other.counts)


def test_planning_is_timed_on_most_of_the_cluster() -> None:
    row = planning(nodes=10, models=12, seed=3)
    assert 3 <= row["in use"] <= 20
    assert row["plan s"] > 0 < row["change s"]


def rows(theirs: list[tuple[float, float]]) -> list[dict[str, object]]:
    ours = {"nodes": 1, "contender": "surplus", "setting": "", "in time %": 99.0, "node hours": 5}
    return [ours] + [
        {"nodes": 1, "contender": name, "setting": str(k), "in time %": share, "node hours": hours}
        for name in REFERENCES
        for k, (share, hours) in enumerate(theirs)
    ]


@pytest.mark.parametrize(
    ("theirs", "ratio"),
    [
        # the cheapest of those that have as many in time
        ([(98.0, 5), (99.5, 10), (99.9, 20)], 0.5),
        # nobody has: who has most
        ([(97.0, 5), (98.0, 20)], 0.25),
    ],
)
def test_a_reference_is_judged_at_the_same_share(
    theirs: list[tuple[float, float]], ratio: float
) -> None:
    found = ratios(rows(theirs))
    assert [row["ratio of node hours"] for row in found] == [ratio, ratio]


def test_every_planner_contends() -> None:
    assert set(CLUSTER_PLANNERS.names()) - {"per_model"} <= CONTENDERS.keys()
    assert set(FROM_NOTHING) <= CONTENDERS.keys() >= set(REFERENCES)
