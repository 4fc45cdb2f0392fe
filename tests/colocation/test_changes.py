"""Devices that fail, services that leave, deployments that are replaced while they serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import (
    PolicySpec,
    compare,
    policy_names,
    policy_spec,
    read_scenario,
    simulate,
)
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.rate_monitor import RateMonitor
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.reduced_demand import plan_without
from surplus.colocation.frame.reorganiser import ReorganisationParams, Reorganiser
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.stage import Stage
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.results.validate import RunRule, check_run, validate_run
from surplus.colocation.simulation.simulator import Run, Setting
from tests.colocation.settings import MS, load_of, service, setting_of

LOST, BACK, LEFT, CAME = ChangeKind
TIMES = st.lists(st.integers(0, 80), max_size=14)
SOON = ReorganisationParams(period_ns=20 * MS, reorganisation_ns=7 * MS, threshold=0.0, windows=1)


def checked(setting: Setting, policy: PolicySpec) -> Run:
    run = simulate(setting, policy)
    check_run(setting.load, setting.demand.services, run.deployment, run.record)
    return run


def names(run: Run) -> list[str]:
    return [Outcome(o).name for o in run.record.outcome]


@st.composite
def changes(draw: st.DrawFn) -> tuple[tuple[int, Change], ...]:
    """Each device and service goes and comes in turn, at different times."""
    rows = []
    for away, back, count in ((LOST, BACK, 2), (LEFT, CAME, 2)):
        for subject in range(count):
            times = sorted(draw(st.sets(st.integers(0, 90), max_size=4)))
            for k, when in enumerate(times):
                rows.append((when * MS, Change(back if k % 2 else away, subject)))
    return tuple(sorted(rows))


@pytest.mark.parametrize("policy", policy_names())
@given(
    arrivals=st.tuples(TIMES, TIMES),
    happening=changes(),
    reorganisation=st.sampled_from([None, SOON]),
    interference=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_every_query_ends_whatever_goes_and_comes(
    policy: str,
    arrivals: tuple[list[int], list[int]],
    happening: tuple[tuple[int, Change], ...],
    reorganisation: ReorganisationParams | None,
    interference: bool,
) -> None:
    services = [service("a", slo_ms=40, max_batch=4), service("b", slo_ms=60, max_batch=8)]
    load = load_of(services, [sorted(row) for row in arrivals], duration_ms=100)
    setting = setting_of(
        services,
        load,
        fixed_ms=[4, 7],
        per_item_ms=[1, 2],
        rates_per_s=[90, 60],
        devices=2,
        noise="exponential",
        interference=Pairwise(["a", "b"], 0.3) if interference else None,
    )
    setting = replace(setting, changes=happening, reorganisation=reorganisation)
    run = checked(setting, policy_spec(policy))
    assert "UNFINISHED" not in names(run)
    assert names(checked(setting, policy_spec(policy))) == names(run)


def one_service(
    arrivals: Sequence[float], devices: int, *happening: tuple[float, Change]
) -> Setting:
    services = [service("a", slo_ms=100)]
    setting = setting_of(services, load_of(services, [arrivals]), [10], devices=devices)
    return replace(setting, changes=tuple((round(t * MS), change) for t, change in happening))


def test_a_lost_device_fails_what_runs_and_another_serves_the_rest() -> None:
    setting = one_service([0, 0, 0], 2, (5, Change(LOST, 0)))
    run = checked(setting, policy_spec("fcfs"))
    assert names(run) == ["FAILED", "IN_TIME", "IN_TIME"]
    assert list(run.record.group_end_ns) == [5 * MS, 10 * MS, 20 * MS]


def test_without_any_device_queries_are_rejected_until_it_is_back() -> None:
    setting = one_service([0, 1, 8, 12], 1, (5, Change(LOST, 0)), (11, Change(BACK, 0)))
    run = checked(setting, policy_spec("fcfs"))
    assert names(run) == ["FAILED", "REJECTED", "REJECTED", "IN_TIME"]
    assert run.record.ended_ns[1] == 5 * MS
    assert run.record.group_start_ns[1] == 12 * MS


def test_what_ends_as_its_device_is_lost_has_ended() -> None:
    run = checked(one_service([0], 1, (10, Change(LOST, 0))), policy_spec("fcfs"))
    assert names(run) == ["IN_TIME"]


def test_a_service_that_leaves_is_turned_away() -> None:
    services = [service("a"), service("b")]
    setting = setting_of(services, load_of(services, [[0, 1, 8], [2, 30]]), [10, 10])
    gone = ((5 * MS, Change(LEFT, 0)), (25 * MS, Change(CAME, 0)))
    run = checked(replace(setting, changes=gone), policy_spec("fcfs"))
    # By arrival: a at 0, a at 1, b at 2, a at 8, b at 30. What runs is not taken back.
    assert names(run) == ["IN_TIME", "REJECTED", "IN_TIME", "REJECTED", "IN_TIME"]


@PLANNERS.register("by_rate_for_a_test")
class ByRate:
    """A whole device while the rate is low, two halves when it is high."""

    def plan(self, demand: Demand) -> Deployment:
        shares = (50, 50) if demand.rates_per_s[0] > 50 else (100,)
        return Deployment(
            tuple(Partition(0, share) for share in shares),
            tuple(Assignment(0, k, 1) for k in range(len(shares))),
        )


def test_the_old_partition_serves_until_the_new_ones_are_ready() -> None:
    """Rates seen at 20 call for halves, ready at 27, open when the whole is free at 30."""
    services = [service("a", slo_ms=500)]
    setting = setting_of(
        services, load_of(services, [range(16)], duration_ms=30), [10], rates_per_s=[9]
    )
    params = ReorganisationParams(20 * MS, 7 * MS, window_ns=20 * MS, windows=1)
    policy = PolicySpec("t", "fcfs", planner="by_rate_for_a_test")
    run = checked(replace(setting, reorganisation=params), policy)
    assert list(run.record.group_partition[:5]) == [0, 0, 0, 1, 2]
    assert list(run.record.group_start_ns[:5]) == [0, 10 * MS, 20 * MS, 30 * MS, 30 * MS]
    assert run.deployment.partitions == (Partition(0, 100), Partition(0, 50), Partition(0, 50))
    assert [when for when, _ in run.record.views] == [27 * MS, 30 * MS]
    assert run.record.plans == 1


@pytest.mark.parametrize(("period_ms", "hurried"), [(20, True), (1000, False)])
def test_plans_that_last_are_worth_a_planners_time(period_ms: int, hurried: bool) -> None:
    asked: list[Demand] = []

    class Asked(ByRate):
        def plan(self, demand: Demand) -> Deployment:
            asked.append(demand)
            return super().plan(demand)

    setting = one_service([0], 1)
    first = ByRate().plan(setting.demand)
    params = ReorganisationParams(period_ms * MS)
    reorganiser = Reorganiser(Asked(), setting.demand, params, lambda partitions: None)
    reorganiser.changed(Change(CAME, 0), Stage(first), Record(1), 5 * MS)
    assert [demand.hurried for demand in asked] == [hurried]


def test_no_device_is_no_other_way_of_serving() -> None:
    setting = one_service([0], 1)
    previous = replace(ByRate().plan(setting.demand), mode="so")
    lost = frozenset(range(len(setting.demand.devices)))
    found = plan_without(ByRate(), setting.demand, frozenset(), lost, previous)
    assert found.mode == "so"
    assert not found.partitions


def test_partitions_open_one_by_one_and_keep_their_places() -> None:
    first = Deployment(
        (Partition(0, 60), Partition(0, 40)), (Assignment(0, 0, 1), Assignment(1, 1, 1))
    )
    stage = Stage(first)
    wanted = Deployment(
        (Partition(0, 20), Partition(0, 40), Partition(0, 40)),
        (Assignment(0, 0, 1), Assignment(1, 1, 1), Assignment(0, 2, 1)),
    )
    stage.running[0] = object()  # type: ignore[call-overload]
    stage.take_over(stage.placed(wanted))
    assert stage.view.partitions == (*first.partitions, Partition(0, 20), Partition(0, 40))
    assert [(a.service, a.partition) for a in stage.view.assignments] == [(1, 1)]
    assert stage.served == {0, 1}
    assert stage.free(0)
    assert [(a.service, a.partition) for a in stage.view.assignments] == [(0, 2), (1, 1), (0, 3)]
    stage.take_over(stage.placed(first))
    assert len(stage.view.partitions) == 4
    assert stage.view.assignments == first.assignments


def test_the_validator_sees_groups_on_lost_devices() -> None:
    setting = one_service([0, 20], 1)
    run = simulate(setting, policy_spec("fcfs"))
    run.record.changes += [(5 * MS, Change(LOST, 0)), (21 * MS, Change(BACK, 0))]
    found = validate_run(setting.load, setting.demand.services, run.deployment, run.record)
    assert [violation.rule for violation in found] == [RunRule.LOST, RunRule.LOST]


def test_the_validator_sees_services_where_they_are_no_more() -> None:
    setting = one_service([0, 20], 1)
    run = simulate(setting, policy_spec("fcfs"))
    run.record.opened(Deployment(run.deployment.partitions, ()), 20 * MS)
    assert not validate_run(setting.load, setting.demand.services, run.deployment, run.record)
    run.record.views[0] = (19 * MS, run.record.views[0][1])
    found = validate_run(setting.load, setting.demand.services, run.deployment, run.record)
    assert [violation.rule for violation in found] == [RunRule.PLACE]


def test_rates_fade_by_windows() -> None:
    monitor = RateMonitor([10.0, 0.0], 100 * MS, 3)
    for when in (0, 10, 99):
        monitor.arrived(1, when * MS)
    assert monitor.rates_per_s(99 * MS) == (10.0, 0.0)
    assert monitor.rates_per_s(100 * MS) == (5.0, 15.0)
    assert monitor.rates_per_s(399 * MS) == (1.25, 3.75)


def test_rates_of_which_nothing_is_believed_are_of_the_windows_that_there_were() -> None:
    monitor = RateMonitor([0.0], 100 * MS, 3, unbiased=True)
    for when in (0, 10):
        monitor.arrived(0, when * MS)
    assert monitor.rates_per_s(99 * MS) == (0.0,)
    assert monitor.rates_per_s(100 * MS) == (20.0,)
    monitor.arrived(0, 110 * MS)
    assert monitor.rates_per_s(200 * MS)[0] == pytest.approx((20 / 2 + 10) / (1 / 2 + 1))
    assert monitor.rates_per_s(100_000 * MS)[0] == pytest.approx(0.0)


@pytest.mark.parametrize(
    "options", [{"period_ns": 0}, {"reorganisation_ns": -1}, {"threshold": float("nan")}]
)
def test_impossible_reorganisations_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ReorganisationParams(**options)  # type: ignore[arg-type]


SMALL = """
duration_s = 1
seed = 1
policies = ["fcfs"]
device = [{ name = "gpu0" }, { name = "gpu1" }]
[[service]]
name = "a"
slo_ms = 50
profile = { kind = "affine", fixed_ns = 4_000_000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 50 }
"""


def test_files_say_what_changes_and_how_deployments_follow(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    rows = """
change = [
  { at_s = 0.5, device = "gpu1", state = "back" },
  { at_s = 0.2, device = "gpu1", state = "lost" },
  { at_s = 0.7, service = "a", state = "left" },
]
reorganise = { period_s = 0.1, takes_s = 0.05, windows = 4 }
"""
    path.write_text(rows + SMALL)
    scenario = read_scenario(path)
    assert scenario.changes == (
        (200 * MS, Change(LOST, 1)),
        (500 * MS, Change(BACK, 1)),
        (700 * MS, Change(LEFT, 0)),
    )
    params = ReorganisationParams(100 * MS, 50 * MS, windows=4)
    assert scenario.reorganisation == params
    load, (compared,) = compare(scenario, ["fcfs"])
    assert compared.summary.total.rejected == int((load.arrival_ns >= 700 * MS).sum())
    assert compared.summary.total.failed <= 1


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ('change = [{ at_s = -1, device = "gpu0", state = "lost" }]', "at_s: expected `float`"),
        ('change = [{ at_s = 1, device = "gpu7", state = "lost" }]', "no device 'gpu7'"),
        ('change = [{ at_s = 1, service = "a", state = "lost" }]', "of left, came, got 'lost'"),
        ('change = [{ at_s = 1, state = "lost" }]', "give a device or a service"),
        ('change = [{ at_s = 1, device = "gpu0", state = "back" }]', "'gpu0' is here already"),
        ('change = [{ at_s = 1, device = "gpu0", state = "lost", x = 1 }]', "field 'x' is unknown"),
        ("reorganise = { period_s = 0 }", "period_s: expected `float` >= 0.001"),
        ("reorganise = { every = 1 }", "field 'every' is unknown"),
    ],
)
def test_wrong_changes_are_explained(rows: str, match: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(rows + SMALL)
    with pytest.raises(ValueError, match=match):
        read_scenario(path)
