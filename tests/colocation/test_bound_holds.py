"""The clairvoyant bound on random scenarios: no policy and no schedule is above it, ever.

The default run draws a few; ``pytest -m slow`` draws 2,000.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.colocation import compare, policy_names, policy_spec, read_scenario, simulate
from surplus.colocation.clairvoyant import Bound, scenario_bound
from surplus.colocation.frame.query import Outcome
from surplus.colocation.scenarios.scenario import Scenario
from tests.colocation.exhaustive import most_in_time
from tests.colocation.made_up_layers import write_layer_times
from tests.colocation.random_scenarios import random_scenario

FOLDER = Path(__file__).parent / "scenarios"
FEW = (42, 44, 45, 47, 48, 49, 51, 52, 54, 56)
"""Some that take little time."""
ALL = 2_000
CHUNK = 50
TINY = 3
"""Queries whose every schedule is tried."""


def check(seed: int) -> None:
    scenario = random_scenario(seed)
    setting = scenario.setting()
    bound = scenario_bound(scenario, setting.load)
    assert bound.proved
    served = 0
    for policy in policy_names():
        try:
            record = simulate(setting, policy_spec(policy)).record
        except ValueError:
            continue  # Its planner needs shares that a profile lacks.
        served += 1
        in_time = [outcome == Outcome.IN_TIME for outcome in record.outcome]
        assert sum(in_time) <= bound.in_time, (seed, policy)
        _check_services(scenario, bound, in_time, (seed, policy))
    assert served
    if len(setting.load) <= TINY:
        assert most_in_time(setting) <= bound.in_time, seed


def _check_services(
    scenario: Scenario, bound: Bound, in_time: list[bool], where: tuple[int, str]
) -> None:
    """Each service alone is below its own."""
    service = scenario.load().service
    for index, most in enumerate(bound.services):
        own = sum(done for done, k in zip(in_time, service, strict=True) if k == index)
        assert own <= most, (*where, index)


@pytest.mark.parametrize("seed", FEW)
def test_no_policy_is_above_the_bound_on_a_few_scenarios(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_no_policy_is_above_the_bound_on_any_scenario(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check(seed)


@pytest.mark.parametrize("name", ["more_cores", "small_shares"])
def test_scenarios_that_were_above_the_bound(name: str, tmp_path: Path) -> None:
    scenario = read_scenario(FOLDER / f"{name}.toml", write_layer_times(tmp_path))
    bound = scenario_bound(scenario)
    _, compared = compare(scenario, scenario.policies)
    most = max(one.summary.total.in_time for one in compared)
    assert 0 < most <= bound.in_time
