"""``surplus`` beside each paper's policy on the paper's scenarios."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.colocation.all import scenario_names
from bench.colocation.own_grounds import OURS, PAPERS, by_paper, guaranteeing, knowing, measure
from surplus.colocation import policy_names, read_scenario

LIVE = Path(__file__).parents[2] / "bench" / "configs" / "colocation" / "live"


def test_each_paper_has_scenarios_and_a_policy() -> None:
    there = {name.split("/")[0] for name in scenario_names()}
    assert set(PAPERS) <= there
    assert {*PAPERS.values(), OURS} <= set(policy_names())


def test_both_serve_a_papers_scenario() -> None:
    row = measure(("dstack/c2",), ())
    assert row["policy"] == "dstack"
    assert 0 < row["in time"] <= 1
    assert 0 < row["surplus"] <= 1
    assert 0 < row["guarantee"] <= 1


def test_ours_is_told_the_latency_model_that_the_papers_policy_has() -> None:
    scenario = read_scenario(LIVE / "abacus_gpu.toml")
    path = scenario.policy_options["abacus"]["predictor"]["path"]
    told = knowing(scenario, "abacus").policy_options
    assert told[OURS] == {"planner": {"path": path}, "predictor": {"path": path}}
    plain = replace(scenario, policy_options={})
    assert knowing(plain, "abacus") is plain
    fair = guaranteeing(knowing(scenario, "abacus")).policy_options
    assert fair[OURS] == {**told[OURS], "guarantee": 1.0}


def test_sums_name_the_scenario_where_ours_is_furthest_behind() -> None:
    rows = [
        {"paper": "dstack", "policy": "dstack", "in time": theirs, "surplus": ours}
        | {"fairness": 0.9, "surplus, fairness": fair}
        | {"guarantee": ours - 0.05, "guarantee, fairness": 0.95}
        for theirs, ours, fair in ((0.8, 0.9, 0.8), (0.9, 0.85, 1.0))
    ]
    (row,) = by_paper(rows)
    assert (row["its % in time"], row["surplus"]) == ("85.0", "87.5")
    assert float(row["least ahead, points"]) == pytest.approx(-5)
    assert float(row["least fair beside it"]) == pytest.approx(-0.1)
    assert (row["% in time, guarantee 1"], row["fairness, guarantee 1"]) == ("82.5", 0.95)
