"""The pace of a run: what groups took over what the profile says, by window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.infrastructure.pace import pace_of
from surplus.colocation import policy_spec, read_scenario
from surplus.colocation.scenarios.scenario import Scenario
from surplus.colocation.simulation.simulator import Run, simulate
from surplus.colocation.truths.truth import Pace, PacedTruth, ProfileTruth

SCENARIO = Path(__file__).parents[2] / "bench/configs/colocation/two_services.toml"
WINDOW_NS = 500_000_000


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return replace(read_scenario(SCENARIO), duration_ns=2_000_000_000)


def run_at(scenario: Scenario, pace: Pace, policy: str = "fcfs") -> Run:
    """A run without noise on a machine of that pace."""
    setting = scenario.setting()
    demand = setting.demand
    truth = ProfileTruth(demand.services, demand.profiles, lambda draw, spread: 1.0, 1)
    setting = replace(setting, truth=PacedTruth(truth, pace), interference=None)
    return simulate(setting, policy_spec(policy))


def test_the_pace_of_a_machine_is_found_again(scenario: Scenario) -> None:
    windows = (1.0, 1.5, 0.8)
    found = pace_of(scenario, run_at(scenario, Pace(WINDOW_NS, windows, (1.0, 1.0))), WINDOW_NS)
    ratios = [window / found.windows[0] for window in found.windows[:3]]
    assert ratios == pytest.approx(windows, rel=0.05)  # of a load whose mix changes


def test_services_have_factors_of_their_own(scenario: Scenario) -> None:
    found = pace_of(scenario, run_at(scenario, Pace(WINDOW_NS, (1.0,), (0.7, 1.4))), WINDOW_NS)
    assert found.services == pytest.approx((0.7, 1.4), rel=1e-3)
    assert found.windows == pytest.approx([1.0] * len(found.windows), rel=1e-3)


def test_pieces_of_models_count_as_what_they_are(scenario: Scenario) -> None:
    pace = Pace(WINDOW_NS, (1.25,), (1.0, 1.0))
    found = pace_of(scenario, run_at(scenario, pace, "abacus"), WINDOW_NS)
    assert found.services == pytest.approx((1.25, 1.25), rel=1e-3)


@pytest.mark.parametrize("pace", [Pace(1, (1.0, 0.0), (1.0,)), Pace(1, (), (1.0,))])
def test_a_pace_is_positive(pace: Pace) -> None:
    with pytest.raises(ValueError, match="must be > 0"):
        PacedTruth(None, pace)  # type: ignore[arg-type]


def test_groups_of_several_pieces_have_a_factor_of_their_own(scenario: Scenario) -> None:
    pace = Pace(WINDOW_NS, (1.0,), (1.2, 1.2), together=1.5)
    found = pace_of(scenario, run_at(scenario, pace, "abacus"), WINDOW_NS)
    assert found.services == pytest.approx((1.2, 1.2), rel=1e-3)
    assert found.together == pytest.approx(1.5, rel=1e-3)
