"""The policy ``surplus``: ways of serving that are tried, and the one that serves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.families.normal_load import at_load
from surplus.colocation.families.registry import family_scenario
from surplus.colocation.foresight import planner
from surplus.colocation.foresight.aim import Aim
from surplus.colocation.foresight.imagined import believed_interference, imagined_load
from surplus.colocation.foresight.planner import Foresight
from surplus.colocation.foresight.race import Heat, winner
from surplus.colocation.foresight.ways import way, ways_for
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.controller import PolicyError
from surplus.colocation.frame.deployment import check_deployment
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.policies.names import PolicySpec, with_options
from surplus.colocation.policies.setup import set_up
from surplus.colocation.profiles.bandwidth import Bandwidth
from surplus.colocation.profiles.measured import times_of
from surplus.colocation.profiles.measured_profile import MeasuredModel, MeasuredProfile
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from tests.colocation.settings import MS, group_of, load_of, service, setting_of

SERVICES = [service("a", slo_ms=40, max_batch=8), service("b", slo_ms=90, max_batch=8)]
PARTS = [replace(own, operators=4) for own in SERVICES]
SETTING = setting_of(
    SERVICES, load_of(SERVICES, [[0, 5], [0]]), [6, 20], [2, 4], [150, 60], knee_percent=50
)


def test_the_best_of_all_heats_wins() -> None:
    shares = {"x": (0.5, 0.5), "y": (0.7, 0.9), "z": (0.9, 0.2), "w": (0.1, 0.0)}
    heats = [Heat(9, 100, 1.0), Heat(3, 900, 1.0)]
    asked: list[tuple[str, int]] = []

    def trial(name: str, number: int) -> float | None:
        asked.append((name, number))
        return shares[name][number]

    assert winner(list(shares), trial, heats, 0.0) == "y"
    assert ("w", 1) not in asked
    assert winner(list(shares), trial, heats, 0.4) == "x"


def test_a_race_ends_where_all_is_easy() -> None:
    asked: list[tuple[str, int]] = []

    def trial(name: str, number: int) -> float | None:
        asked.append((name, number))
        return None if name == "x" else 1.0

    assert winner(["x", "y", "z"], trial, [Heat(9, 10, 1.0), Heat(9, 10, 1.0)], 0.0) == "y"
    assert asked == [("x", 0), ("y", 0), ("y", 1)]


def test_the_best_two_that_are_unlike_the_rest_go_on_to_every_heat() -> None:
    # A burst suits a to d, which are alike; z is best over all heats.
    ran: list[tuple[str, int]] = []
    first = {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "x": 0.1, "y": 0.2, "z": 0.4}

    def trial(name: str, heat: int) -> float:
        ran.append((name, heat))
        return first[name] if not heat else 0.9 if name == "z" else 0.6

    heats = [Heat(9, 10, 1.0), Heat(3, 10, 1.0), Heat(2, 10, 1.0)]
    assert winner(list(first), trial, heats, 0.0) == "a"
    ran.clear()
    assert winner(list(first), trial, heats, 0.0, ("x", "y", "z")) == "z"
    assert [name for name, heat in ran if heat == 1] == ["a", "b", "c", "z", "y"]
    assert ("x", 1) not in ran


def test_a_first_heat_that_is_easy_does_not_end_a_race() -> None:
    """What begins empty is in time at first, however it ends."""
    shares = {"x": (1.0, 0.6), "y": (1.0, 0.9), "z": (0.99, 0.95)}
    asked: list[tuple[str, int]] = []

    def trial(name: str, number: int) -> float | None:
        asked.append((name, number))
        return shares[name][number]

    assert winner(list(shares), trial, [Heat(9, 10, 1.0), Heat(9, 10, 1.0)], 0.0) == "z"
    assert len(asked) == len(set(asked)) == 6


def test_a_race_without_able_ways_says_so() -> None:
    with pytest.raises(ValueError, match="no way of serving"):
        winner(["x"], lambda *_: None, [Heat(9, 10, 1.0)], 0.0)


@pytest.mark.parametrize("lanes", [1, 2])
def test_every_way_can_be_made(lanes: int) -> None:
    devices = (ServingDevice("d", lanes=lanes, cores=8),)
    names = ways_for(replace(SETTING.demand, devices=devices), groups=True)
    assert len(names) == len(set(names))
    assert ("lanes" in names) == (lanes > 1)
    assert {way(name).name for name in names} == set(names)


@pytest.mark.parametrize("burst", [1.0, 1.5])
def test_an_imagined_load_is_of_the_demand(burst: float) -> None:
    load = imagined_load(SETTING.demand, 20_000, 1, burst)
    assert len(load) == pytest.approx(20_000, rel=0.05)
    assert (np.diff(load.arrival_ns) >= 0).all()
    assert (load.service == 0).mean() == pytest.approx(150 / 210, abs=0.02)
    quarter = load.arrival_ns * 4 // load.duration_ns
    assert (quarter % 2 == 1).mean() == pytest.approx(burst / 2, abs=0.02)


def test_an_imagined_load_may_last_for_more_targets() -> None:
    own = [service("a", slo_ms=100)]
    demand = setting_of(own, load_of(own, [[]]), [1], [1], [1000]).demand
    assert imagined_load(demand, 250, 1).duration_ns == 400 * MS
    assert imagined_load(demand, 250, 1, targets=12).duration_ns == 1200 * MS
    assert imagined_load(demand, 100, 1, targets=12).duration_ns == 800 * MS  # eight times as many
    assert imagined_load(demand, 3000, 1, targets=12).duration_ns == 3000 * MS


def test_an_imagined_load_is_not_thinned_where_targets_are_far_apart() -> None:
    """Four long targets would be 40,000 of the fast service's queries, 250 were asked for."""
    own = [service("slow", slo_ms=1000), service("fast", slo_ms=5)]
    made = setting_of(own, load_of(own, [[], []]), [1, 1], [1, 1], [50, 10_000])
    load = imagined_load(made.demand, 250, 1)
    seconds = load.duration_ns / NS_PER_S
    assert (load.service == 1).sum() == pytest.approx(10_000 * seconds, rel=0.1)
    assert len(load) == pytest.approx(8 * 250, rel=0.1)


def test_a_way_is_chosen_for_the_load_that_comes_not_for_a_thin_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Targets of 235 and 6 ms, 170 and 7,450 queries a second: our rule holds 60 % of them."""
    monkeypatch.setattr(planner, "ways_for", lambda demand, groups: ["columns", "gpulet_int"])
    monkeypatch.setattr(planner, "_HEATS", (Heat(9, 250, 1.0),))
    scenario = at_load(family_scenario("gpulets", 6), 0.98, 1)
    setting = replace(scenario, duration_ns=NS_PER_S // 2).setting()
    run = simulate(setting, policy_spec("surplus"))
    assert in_time(run) > 0.9 * len(setting.load)


def test_neighbours_are_believed_to_cost_something_where_lanes_are_shared() -> None:
    """Ways that run many groups side by side would win races that they lose in life."""
    groups = [group_of(0), group_of(1)]
    assert believed_interference(SETTING.demand) is None
    lanes = replace(SETTING.demand, devices=(ServingDevice("cpu", lanes=2),))
    believed = believed_interference(lanes)
    assert believed is not None
    assert believed.slowdowns_ppm(groups) == [1_050_000, 1_050_000]
    assert believed.slowdowns_ppm(groups[:1]) == [1_000_000]


def test_models_that_use_a_third_of_a_memory_are_believed_to_cost_what_gpulet_measured() -> None:
    third = Bandwidth(1, 1, 1, l2=1 / 3, dram=1 / 3)
    demand = replace(SETTING.demand, profiles=(third, third))
    believed, twice = believed_interference(demand), believed_interference(demand, 2.0)
    assert believed is not None
    assert twice is not None
    many = [group_of(service, 10_000) for service in range(2)]
    assert 1_150_000 < believed.slowdowns_ppm(many)[0] < 1_180_000
    assert 1_300_000 < twice.slowdowns_ppm(many)[0] < 1_360_000


def test_what_was_measured_beside_each_other_is_believed() -> None:
    measured = MeasuredModel(
        1, (1,), {"50": (2.0,), "100": (1.0,)}, (0.0,), groups_ms=(), versions=()
    )
    profile = MeasuredProfile(
        "cpu:2", {"a": measured, "b": measured}, {"a": {"a": 0.1, "b": 0.3}, "b": {"a": 0.0}}, {}
    )
    both = tuple(times_of(profile, name) for name in "ab")
    believed = believed_interference(replace(SETTING.demand, profiles=both), 7.0)
    assert believed is not None
    groups = [group_of(0), group_of(1)]
    assert believed.slowdowns_ppm(groups) == [1_300_000, 1_000_000]
    assert believed.slowdowns_ppm([groups[1], groups[1]]) == [1_350_000, 1_350_000]  # not measured


def test_a_plan_says_for_which_way_it_is() -> None:
    demand = SETTING.demand
    found = Foresight().plan(demand)
    check_deployment(found, demand.services, demand.devices)
    assert found.mode in ways_for(demand, groups=False)
    stays = replace(demand, previous=replace(found, mode="veltair"))
    assert Foresight().plan(replace(stays, hurried=True)).mode == "veltair"
    assert Foresight().plan(stays).mode == found.mode  # which has no cores to claim


def test_a_way_with_a_bug_is_passed_over_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulated(setting: Setting, spec: PolicySpec) -> Run:
        if spec.name == "columns":
            raise PolicyError("query 7 is not waiting")
        return simulate(setting, spec)

    monkeypatch.setattr(planner, "simulate", simulated)
    rates = tuple(1.01 * rate for rate in SETTING.demand.rates_per_s)  # no plan that is remembered
    with pytest.warns(UserWarning, match="'columns' is passed over: query 7 is not waiting"):
        found = Foresight().plan(replace(SETTING.demand, rates_per_s=rates))
    assert found.mode not in ("", "columns")


def test_it_serves_what_its_way_serves() -> None:
    times = [[k * 7.0 for k in range(140)], [k * 17.0 for k in range(58)]]
    setting = replace(SETTING, load=load_of(SERVICES, times))
    run = simulate(setting, policy_spec("surplus"))
    spec = replace(way(run.deployment.mode), predictor="foresight")
    own = simulate(setting, spec).record
    assert list(run.record.outcome) == list(own.outcome)
    assert sum(outcome == Outcome.IN_TIME for outcome in own.outcome) > 190


def test_it_stays_with_its_way_unless_another_is_better_by_more() -> None:
    shares = {"columns": 0.9, "now": 0.89, "sjf": 0.5}
    heats = [Heat(9, 100, 1.0)]
    assert winner(["now", "columns", "sjf"], lambda name, _: shares[name], heats, 0.02) == "now"


GROWING = 8
"""Seconds; the load is light in the first half, and more than single queries hold in the second."""


def growing() -> Setting:
    light = np.arange(0, GROWING * 500, 50.0).tolist()
    heavy = np.arange(GROWING * 500, GROWING * 1000, 4.0).tolist()
    services = [service("a", slo_ms=100, max_batch=16)]
    load = load_of(services, [light + heavy], duration_ms=GROWING * 1000)
    made = setting_of(services, load, [8], [1], [20])
    params = ReorganisationParams(NS_PER_S, 100 * MS, windows=1)
    return replace(made, reorganisation=params)


def test_a_load_that_changes_makes_another_way_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "ways_for", lambda demand, groups: ["sjf_drop", "columns"])
    setting = growing()
    run = simulate(setting, policy_spec("surplus"))
    check_run(setting.load, setting.demand.services, run.deployment, run.record)
    assert run.deployment.mode == "sjf_drop"
    assert {view.mode for _, view in run.record.views} == {"columns"}
    monkeypatch.setattr(planner.Foresight, "_way", lambda self, demand: "sjf_drop")
    stayed = simulate(setting, policy_spec("surplus"))
    assert in_time(run) > 1.3 * in_time(stayed)


def test_asked_again_it_divides_no_devices_for_what_it_saw_a_moment_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planner, "winner", lambda ways, trial, heats, lead: ways)
    monkeypatch.setattr(planner, "ways_for", lambda demand, groups: ["gpulets", "edf", "columns"])
    again = planner._chosen.__wrapped__
    assert again(SETTING.demand, None, Aim(), "sjf_drop") == ["sjf_drop", "columns"]


def in_time(run: Run) -> int:
    return sum(outcome == Outcome.IN_TIME for outcome in run.record.outcome)


DEVICES = (
    ServingDevice("gpu"),
    ServingDevice("cpu", lanes=2),
    ServingDevice("cores", cores=8),
)
WAYS = [
    (device, name)
    for device in DEVICES
    for name in ways_for(replace(SETTING.demand, devices=(device,), services=tuple(PARTS)), False)
    if name != "columns"
]


@pytest.mark.parametrize(("device", "name"), WAYS, ids=lambda value: getattr(value, "name", value))
def test_going_over_to_and_from_every_way_is_sound(
    monkeypatch: pytest.MonkeyPatch, device: ServingDevice, name: str
) -> None:
    def turns(own: planner.Foresight, demand: Demand) -> str:
        return name if demand.previous is None or demand.previous.mode != name else "columns"

    monkeypatch.setattr(planner.Foresight, "_way", turns)
    times = [np.arange(0, 600, 7.0).tolist(), np.arange(0, 600, 17.0).tolist()]
    made = setting_of(PARTS, load_of(PARTS, times), [6, 20], [2, 4], [140, 59], knee_percent=50)
    setting = replace(
        made,
        demand=replace(made.demand, devices=(device,)),
        reorganisation=ReorganisationParams(60 * MS, 5 * MS, 0.0, 20 * MS, 1),
    )
    try:
        way_setup = set_up(setting.demand, way(name))
    except ValueError:
        pytest.skip("this way cannot serve here")  # nor would the planner have chosen it
    assert way_setup.deployment.assignments
    run = simulate(setting, policy_spec("surplus"))
    check_run(setting.load, setting.demand.services, run.deployment, run.record)
    modes = {view.mode for _, view in run.record.views}
    assert modes == {name, "columns"}
    assert in_time(run) > len(setting.load) / 4


def test_our_rule_is_tried_with_time_that_is_scarce() -> None:
    """Batches of these models leave parts of the device empty, so that prices come too late."""
    scenario = at_load(family_scenario("knees", 2), 0.92, 800)
    setting = scenario.setting()
    chosen, plain = (in_time(simulate(setting, policy_spec(n))) for n in ("surplus", "priced"))
    assert chosen > 1.03 * plain


def test_no_latency_model_of_groups_is_asked_for_single_operators() -> None:
    demand = replace(SETTING.demand, services=tuple(PARTS))
    assert "core_order" in ways_for(demand, groups=False)
    knowing = ways_for(demand, groups=True)
    assert "core_order" not in knowing
    assert "abacus" in knowing


def test_the_ideal_division_is_tried_and_its_search_is_bounded() -> None:
    spec = way("ideal")
    assert spec.dispatcher == policy_spec("gpulet_ideal").dispatcher
    devices = tuple(ServingDevice(f"gpu{k}") for k in range(4))
    demand = replace(SETTING.demand, devices=devices, rates_per_s=(900.0, 300.0))
    assert {"ideal", "ideal_scarce"} <= set(ways_for(demand, groups=False))
    plans = [set_up(demand, own).deployment for own in (spec, policy_spec("gpulet_ideal"))]
    assert plans[0] == plans[1]
    assert 0 < spec.planner_options["most"] <= 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"promise": 2.0}, "promise must be between 0 and 1"),
        ({"guarantee": 2.0}, "guarantee must be 0 to 1"),
        ({"weights": {"a": 0.0}}, "weights must be > 0"),
        ({"weights": {"c": 2.0}}, "weights: unknown service 'c'"),
    ],
)
def test_an_aim_that_cannot_be_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(SETTING, with_options(policy_spec("surplus"), options))


def test_a_trial_is_worth_the_value_in_time_less_what_the_least_lacks() -> None:
    service_of, outcomes = [0, 0, 0, 1], [Outcome.IN_TIME] * 3 + [Outcome.LATE]
    assert Aim().worth(SERVICES, service_of, outcomes) == 0.75
    assert Aim(weights=(("b", 3.0),)).worth(SERVICES, service_of, outcomes) == 0.5
    assert Aim(guarantee=0.5).worth(SERVICES, service_of, outcomes) == 0.25
    assert Aim(guarantee=0.5).worth(SERVICES, [0], [Outcome.IN_TIME]) == 1.0


def test_with_a_guarantee_only_ways_are_tried_that_keep_it() -> None:
    names = ["columns", "clockwork", "lanes", "ideal"]
    assert Aim().ways(names) == names
    assert Aim(guarantee=0.9).ways(names) == ["columns", "lanes"]
    told = Aim(guarantee=0.9, weights=(("b", 3.0),)).told(way("columns_urgent"))
    assert told.dispatcher_options == {"patience": 0.5, "guarantee": 0.9, "weights": {"b": 3.0}}
    assert Aim(guarantee=0.9).told(way("ideal")) == way("ideal")


def test_a_way_is_chosen_for_what_queries_are_worth() -> None:
    """Too much of both: who is worth ten times as much is served, whatever it takes."""
    services = [service("a", slo_ms=20, max_batch=1), service("b", slo_ms=60, max_batch=1)]
    random = np.random.default_rng(1)
    times = [sorted(random.uniform(0, 4500, count).tolist()) for count in (1500, 225)]
    setting = setting_of(services, load_of(services, times), [4, 15], [0, 0], [333, 50])

    def in_time_of(service_index: int, **options: Any) -> int:
        run = simulate(setting, with_options(policy_spec("surplus"), options))
        pairs = zip(setting.load.service, run.record.outcome, strict=True)
        return sum(k == service_index and one == Outcome.IN_TIME for k, one in pairs)

    assert in_time_of(1) < 20 < 200 < in_time_of(1, weights={"b": 50.0})
    assert 75 < in_time_of(1, guarantee=0.5) < 150
