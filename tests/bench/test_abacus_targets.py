"""Abacus's two rules for targets, on a scenario that needs no data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.abacus.inputs import INPUTS
from bench.abacus.runs import FIGURES, figures
from bench.abacus.target_rules import TARGETS
from bench.abacus.targets import BASELINES, gains
from bench.infrastructure.resumable import Row
from surplus.colocation import Scenario, policy_spec, read_scenario

SCENARIO = Path(__file__).parents[2] / "bench/configs/colocation/two_services.toml"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    read = read_scenario(SCENARIO)
    sizes = ((1, 4), (2, 3))
    tenants = (replace(t, items=own) for t, own in zip(read.tenants, sizes, strict=True))
    return replace(read, tenants=tuple(tenants))


def test_a_target_is_the_releases_or_twice_the_largest_query_alone(scenario: Scenario) -> None:
    assert TARGETS["release"](scenario) == scenario
    found = TARGETS["2x solo"](scenario)
    for tenant in found.tenants:
        alone_ns = tenant.profile.latency_ns(max(tenant.items), 0, 100)
        assert tenant.service.slo_ns == 2 * alone_ns
    # Of the least inputs, targets are twice those.
    short = TARGETS["2x solo"](INPUTS["least"](scenario))
    assert [tenant.items for tenant in short.tenants] == [(1,), (2,)]
    pairs = zip(short.services, found.services, strict=True)
    assert all(one.slo_ns < other.slo_ns for one, other in pairs)


def test_p99_is_over_the_target_of_each_query(scenario: Scenario) -> None:
    """The service with a target a thousand times as long says nothing of the others."""
    specs = {"fcfs": policy_spec("fcfs")}
    found = figures(scenario, specs, 20.0, 2.0, (1,))["fcfs"]
    assert set(found) == set(FIGURES)
    first, second = scenario.tenants
    patient = replace(second, service=replace(second.service, slo_ns=1000 * second.service.slo_ns))
    again = figures(replace(scenario, tenants=(first, patient)), specs, 20.0, 2.0, (1,))["fcfs"]
    assert 0.1 < again["p99_of_target"] <= found["p99_of_target"]


def test_gains_are_of_one_rule_and_load() -> None:
    def own(scale: float) -> dict[str, dict[str, float]]:
        base = dict.fromkeys(FIGURES, 1.0) | {"violations": 0.0}
        return {"abacus": dict.fromkeys(FIGURES, scale)} | dict.fromkeys(BASELINES, base)

    rows: list[Row] = [
        {"pair": "a", "load": load, "targets": "2x solo", "policies": own(scale)}
        for load, scale in (("50", 1.5), ("100", 2.0))
    ]
    lines = gains(rows)
    assert len(lines) == 2 * len(BASELINES)
    assert {line["served_per_s"] for line in lines if line["load"] == "100"} == {1.0}
    assert {line["violations"] for line in lines} == {None}
