"""The benches of capacities and of wrong profiles, by family."""

from __future__ import annotations

import pytest

from bench.colocation import capacity, wrong_profiles
from bench.colocation.drawn_scenarios import drawn_parser
from surplus.colocation import policy_spec, simulate
from surplus.colocation.families.registry import family_scenario


def test_capacities_are_held_against_the_best_other_one() -> None:
    rows = [
        {"family": "f", "seed": seed, "policy": policy, "capacity": found}
        for seed, own in (("1", (0.5, 0.4, 0.2)), ("2", (0.6, 0.3, 0.75)))
        for policy, found in zip(("surplus", "a", "b"), own, strict=True)
    ]
    (found,) = capacity.summaries(rows)
    assert (found["surplus"], found["a"], found["b"]) == (0.55, 0.35, 0.475)
    assert found["least lead %"] == "-20.0"
    assert found["mean lead %"] == "2.5"


def test_a_family_without_our_policy_has_no_lead() -> None:
    row = {"family": "f", "seed": "1", "policy": "a", "capacity": 0.5}
    assert capacity.summaries([row])[0]["least lead %"] == "-"


def test_a_probe_holds_what_reaches_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "QUERIES", 40)
    scenario = family_scenario("knees", 3)
    easy, hard = (capacity.probe(scenario, "fcfs", load, 1.0) for load in (1e-3, 3.0))
    assert easy.held
    assert not hard.held
    assert easy.least <= easy.goodput <= easy.most


def test_wrong_profiles_are_wrong_either_way() -> None:
    scenario = family_scenario("knees", 3)
    setting = scenario.setting()
    off = wrong_profiles.wrong(setting, 1)
    assert off.demand is setting.demand
    group_ns = {}
    for own in (setting, off):
        record = simulate(own, policy_spec("fcfs")).record
        first = [record.piece_service[0], record.group_end_ns[0] - record.group_start_ns[0]]
        group_ns[own is off] = first
    assert group_ns[True][0] == group_ns[False][0]
    factor = group_ns[True][1] / group_ns[False][1]
    assert factor == pytest.approx(1.3 if (group_ns[True][0] + 1) % 2 else 0.7, rel=1e-3)


def test_policies_are_held_against_the_best_with_wrong_profiles() -> None:
    rows = [
        {"right": {"a": 0.9, "b": 0.8}, "wrong": {"a": 0.7, "b": 0.75}},
        {"right": {"a": 0.9, "b": None}, "wrong": {"a": 0.9, "b": None}},
    ]
    found = {one["policy"]: one for one in wrong_profiles.summaries(rows)}
    assert found["a"]["below the best there, points"] == "2.50"
    assert found["a"]["worst"] == "5.0"
    assert found["b"]["scenarios"] == "1 of 2"


def test_what_is_drawn_can_be_said() -> None:
    args = drawn_parser("x", ("a", "b")).parse_args(["--families", "knees, lanes"])
    assert args.families == ["knees", "lanes"]
    assert args.policies == ["a", "b"]
