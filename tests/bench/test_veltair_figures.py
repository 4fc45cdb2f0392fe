"""VELTAIR's figures on made-up layer times."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.veltair.figures import FIGURES, at_part
from bench.veltair.parts import alone, blocks_of, conflict_row, kept_row, latency_row, proxy_row
from surplus.colocation import Scenario, policy_spec, simulate
from tests.colocation.made_up_layers import write_layer_times


@pytest.fixture
def medium(tmp_path: Path) -> Scenario:
    return at_part("medium", "0.8", write_layer_times(tmp_path), queries=40)


def test_layers_conflict_more_often_than_whole_models(medium: Scenario) -> None:
    layers, whole = (conflict_row(medium, policy) for policy in ("layer_wise", "model_wise"))
    assert layers["blocks a query"] > 50
    assert whole["blocks a query"] == 1
    assert whole["conflicts, % of blocks"] == 0  # it waits for its cores
    added = layers["threads added a query"]
    assert layers["ms of that a query"] == pytest.approx(added * medium.spawn_ns / 1e6)


def test_all_versions_keep_all_of_the_speed_and_more_keep_more(medium: Scenario) -> None:
    rows = [kept_row(medium, count) for count in range(1, 6)]
    least = [row["least %"] for row in rows]
    assert least == sorted(least)
    assert least[-1] == pytest.approx(100)
    assert least[0] < 99


def test_the_proxy_is_nearer_than_believing_in_no_pressure(medium: Scenario) -> None:
    row = proxy_row(medium)
    assert row["slowdown, mean"] > 1
    assert row["90th percentile, with the proxy"] < row["90th percentile, without"]


def test_latency_is_over_that_of_a_query_alone(medium: Scenario) -> None:
    row = latency_row(medium, "veltair")
    assert row["latency over alone, mean"] >= 0.9
    assert row["p95"] >= row["latency over alone, mean"]
    own_ns = alone(medium, 0, "model_wise")
    run = simulate(medium.setting(), policy_spec("model_wise"))
    block = next(own for own in blocks_of(medium, run) if own.model.layers == 53)
    assert own_ns == block.model.versions[0].block_ns(0, 53, block.cores)


def test_every_figure_has_its_rows() -> None:
    for figure in FIGURES.values():
        assert len(set(figure.keys)) == len(figure.keys) > 0
        assert {len(key) for key in figure.keys} == {len(figure.columns)}
