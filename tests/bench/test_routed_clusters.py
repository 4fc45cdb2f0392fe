"""The benches of routed clusters serve all that they are given, and tell what came of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.abacus.runs import scenario_files
from bench.cluster import abacus, failures, gpulet
from surplus.colocation import read_scenario
from surplus.colocation.frame.clock import NS_PER_MS
from tests.colocation.test_abacus_scenarios import data as data


@pytest.mark.parametrize("way", ["clockwork", "clockwork, balanced", "abacus, balanced"])
def test_sixteen_gpus_serve_four_models(way: str, data: Path) -> None:
    (file,) = (p for p in scenario_files("abacus_many") if p.stem.count("_") == 3)
    scenario = abacus.scenario_of(read_scenario(file, data), 0.3, minutes=4, minute_s=0.2)
    assert {service.slo_ns for service in scenario.services} == {100 * NS_PER_MS}
    row = abacus.row(scenario, way, "0.3")
    assert row["queries"] > 100
    assert row["in time %"] > 95


def test_functions_are_dealt_out_to_the_models() -> None:
    parts = abacus.shares(minutes=10, models=4, seed=1)
    assert parts.shape == (10, 4)
    assert parts.min() > 0
    assert parts.sum(axis=1).mean() == pytest.approx(1)


def test_gains_are_over_one_controller() -> None:
    one = {"load": "1", "way": "clockwork", "served/s": 100.0, "in time %": 80.0}
    rows = [one, one | {"way": "edf_drop"}]
    rows += [
        one | {"way": way, "served/s": 120.0, "in time %": 88.0}
        for way in ("abacus", "abacus, balanced")
    ]
    lines = abacus.gains(rows)
    assert len(lines) == 4
    assert {round(line["served"], 9) for line in lines} == {0.2}
    assert {round(line["in time"], 9) for line in lines} == {0.1}


def test_two_waves_rise_and_fall() -> None:
    rates = np.array(gpulet.waves())
    assert len(rates) * gpulet.STEP_S == gpulet.SECONDS
    assert rates[:60].max() == pytest.approx(gpulet.FIRST_PER_S, rel=0.01)
    assert rates[70:].max() == pytest.approx(gpulet.SECOND_PER_S, rel=0.01)
    assert rates[60:70].tolist() == [gpulet.LEAST_PER_S] * 10


def test_servers_follow_the_waves() -> None:
    row = gpulet.row("surplus", 640.0)
    assert row["GPUs, least"] < row["GPUs, most"] <= gpulet.SERVERS
    assert row["plans"] > 10
    assert row["in time %"] > 80


@pytest.mark.parametrize("sort", failures.FAILURES)
def test_what_fails_is_told(sort: str) -> None:
    case = failures.case_of(16, 4.0, seed=1)
    row = failures.row(case, 16, sort, "balanced", seed=1)
    assert row["queries"] == len(case.load)
    assert (row["failing"] > 0) == (sort != "none")
    assert row["lost of others"] <= row["lost"] < 0.1 * row["queries"]


def test_our_balancer_loses_fewer() -> None:
    case = failures.case_of(16, 4.0, seed=1)
    ours, theirs = (failures.row(case, 16, "lost nodes", b, 1) for b in ("balanced", "in turn"))
    assert ours["lost of others"] < theirs["lost of others"]


def test_killed_servers_are_back_and_lost_nodes_are_not() -> None:
    killed, lost = (
        failures.outages_of(sort, range(40), 10**10, seed=1) for sort in failures.FAILURES[1:]
    )
    assert len(killed) == len(lost) == 4
    assert {outage.end_ns - outage.begin_ns for outage in killed} == {failures.RESTART_NS}
    assert {outage.end_ns for outage in lost} == {10**10}
    assert all(outage.silent for outage in lost)
    assert not any(outage.silent for outage in killed)
