"""The search for the highest load that is held, also where more load is not always worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import Scenario, read_scenario
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.results.capacity import BOUND, CapacityParams, capacity_of, probe
from surplus.colocation.results.capacity_search import CapacitySearchParams, Probe, search_capacity

UNIFORM = """
duration_s = 4
seed = 3
policies = ["fcfs"]
[[device]]
name = "gpu"
[[service]]
name = "a"
slo_ms = 25
profile = { kind = "affine", fixed_ns = 10000000, per_item_ns = 0 }
load = { kind = "uniform", rate_per_s = 50 }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A query takes 10 ms: 100 a second is the most."""
    path = tmp_path / "s.toml"
    path.write_text(UNIFORM)
    return read_scenario(path)


def threshold(held: Callable[[float], bool]) -> Callable[[float], Probe]:
    return lambda scale: Probe(scale, float(held(scale)), 0.0, 1.0, held(scale))


@given(limit=st.floats(0.02, 60), tolerance=st.sampled_from([0.5, 0.1, 0.01]))
@settings(max_examples=60, deadline=None)
def test_a_threshold_is_found_within_the_tolerance(limit: float, tolerance: float) -> None:
    found = search_capacity(
        threshold(lambda x: x <= limit), CapacitySearchParams(tolerance=tolerance)
    )
    assert found.scale <= limit <= found.scale * (1 + tolerance)
    assert found.missed_scale is not None
    assert found.missed_scale > limit
    assert found.held_above is None
    assert [row.scale for row in found.probes] == sorted(row.scale for row in found.probes)


def test_nothing_is_probed_twice() -> None:
    asked: list[float] = []

    def ask(scale: float) -> Probe:
        asked.append(scale)
        return threshold(lambda x: x <= 3)(scale)

    search_capacity(ask, CapacitySearchParams())
    assert len(asked) == len(set(asked))


def test_a_gap_below_the_answer_lowers_it_and_is_told() -> None:
    params = CapacitySearchParams(tolerance=0.01)
    found = search_capacity(threshold(lambda x: x <= 3.0 and not 2.2 < x < 2.4), params)
    # 0.75 x 3 falls into the gap: only what is held together with every lower load counts.
    assert found.scale == pytest.approx(2.0)
    assert found.missed_scale == pytest.approx(2.25, rel=0.02)
    assert found.held_above == pytest.approx(3.0, rel=0.01)


def test_ends_of_the_range() -> None:
    never = search_capacity(threshold(lambda x: False), CapacitySearchParams(least=0.25))
    assert (never.scale, never.missed_scale) == (0.0, 0.25)
    always = search_capacity(threshold(lambda x: True), CapacitySearchParams(most=4))
    assert (always.scale, always.missed_scale) == (4.0, None)


@pytest.mark.parametrize(
    "wrong", [{"tolerance": 0.0}, {"least": 0.0}, {"least": 2.0}, {"most": 0.5}]
)
def test_wrong_ranges(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got"):
        CapacitySearchParams(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"target": 0.0}, {"target": 1.1}, {"seeds": 0}])
def test_wrong_targets(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="target"):
        CapacityParams(**wrong)  # type: ignore[arg-type]


def test_a_device_holds_as_many_as_it_computes(scenario: Scenario) -> None:
    params = CapacityParams(seeds=2)
    found = capacity_of(scenario, "fcfs", params)
    assert found.rate_per_s == pytest.approx(100, rel=0.04)
    bound = capacity_of(scenario, BOUND, params)
    assert found.rate_per_s <= bound.rate_per_s * 1.02
    assert bound.rate_per_s == pytest.approx(101, rel=0.03)


def test_scaled_scenarios_differ_in_their_rates_alone(scenario: Scenario) -> None:
    double = scenario.scaled(2)
    assert [t.arrivals.rate_per_s for t in double.tenants] == [100]
    assert len(double.load()) == 2 * len(scenario.load())
    assert replace(double, tenants=scenario.tenants) == scenario


def test_each_service_counts_where_asked(tmp_path: Path) -> None:
    """A rare service that is starved does not show in the sum of all."""
    rare = UNIFORM[UNIFORM.index("[[service]]") :].replace('"a"', '"b"').replace("50 }", "1 }")
    path = tmp_path / "s.toml"
    path.write_text((UNIFORM + rare).replace("slo_ms = 25", "slo_ms = 11"))
    both = read_scenario(path)
    found = [probe(both, "fcfs", 1.0, CapacityParams(each=each, seeds=1)) for each in (False, True)]
    assert found[0].goodput > 0.9
    assert found[1].goodput < found[0].goodput


def test_probes_sum_up_their_seeds(scenario: Scenario) -> None:
    found = probe(scenario, "fcfs", 4.0, CapacityParams(seeds=3))
    assert found.least <= found.goodput <= found.most < 0.2
    assert not found.held


def test_the_bound_holds_every_probed_load(scenario: Scenario) -> None:
    for scale in (0.5, 1.9, 2.0, 3.0):
        best = probe(scenario, "fcfs", scale, CapacityParams(seeds=1)).goodput
        bound = scenario_bound(scenario.scaled(scale))
        assert best <= bound.goodput
