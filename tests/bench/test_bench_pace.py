"""The pace of a run: what groups took over what the profile says, by window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.pace import pace_of
from colocation import policy_spec, read_scenario
from colocation.scenario import Scenario
from colocation.simulator import Run, simulate
from colocation.truth import PacedTruth, ProfileTruth

SCENARIO = Path(__file__).parents[2] / "bench/configs/colocation/two_services.toml"
WINDOW_NS = 500_000_000


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return replace(read_scenario(SCENARIO), duration_ns=2_000_000_000)


def run_at(scenario: Scenario, factors: tuple[float, ...], policy: str = "fcfs") -> Run:
    """A run without noise on a machine of that pace."""
    setting = scenario.setting()
    demand = setting.demand
    truth = ProfileTruth(demand.services, demand.profiles, lambda draw, spread: 1.0, 1)
    setting = replace(setting, truth=PacedTruth(truth, WINDOW_NS, factors), interference=None)
    return simulate(setting, policy_spec(policy))


def test_the_pace_of_a_machine_is_found_again(scenario: Scenario) -> None:
    factors = (1.0, 1.5, 0.8)
    found = pace_of(scenario, run_at(scenario, factors), WINDOW_NS)
    assert found[:3] == pytest.approx(factors, rel=1e-3)


def test_pieces_of_models_count_as_what_they_are(scenario: Scenario) -> None:
    found = pace_of(scenario, run_at(scenario, (1.25,), "abacus"), WINDOW_NS)
    assert found == pytest.approx([1.25] * len(found), rel=1e-3)


def test_a_pace_is_positive() -> None:
    with pytest.raises(ValueError, match="must be > 0"):
        PacedTruth(None, WINDOW_NS, (1.0, 0.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be > 0"):
        PacedTruth(None, WINDOW_NS, ())  # type: ignore[arg-type]
