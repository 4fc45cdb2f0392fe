"""D-STACK's planner and dispatcher, and the slices that it is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surplus.colocation import PolicySpec, policy_spec, simulate
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.policies.dstack.planner import DStackPlanner
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.measured import MeasuredTimes
from surplus.colocation.profiles.measured_profile import MeasuredModel
from surplus.colocation.profiles.table import Table
from surplus.colocation.results.metrics import summarise
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from tests.colocation.settings import MS, load_of, service, setting_of


def checked(setting: Setting, policy: str | PolicySpec) -> Run:
    spec = policy_spec(policy) if isinstance(policy, str) else policy
    run = simulate(setting, spec)
    check_run(setting.load, setting.demand.services, run.deployment, run.record)
    return run


def demand(rates: list[float], devices: int = 1, memory: int | None = None) -> Demand:
    """Services of 8 + 1 x items ms with knees of 20, 40, 60 %, targets of 100 ms."""
    count = len(rates)
    services = tuple(Service(f"s{k}", 100 * MS, 16, memory_bytes=10) for k in range(count))
    profiles = tuple(Affine(8 * MS, MS, 20 * (k + 1)) for k in range(count))
    gpus = tuple(ServingDevice(f"gpu{k}", memory) for k in range(devices))
    return Demand(services, profiles, tuple(rates), (1,) * count, (0,) * count, gpus)


def test_a_plan_gives_every_service_its_knee_on_demand() -> None:
    found = DStackPlanner().plan(demand([50, 50, 50]))
    assert found.on_demand
    assert [p.share_percent for p in found.partitions] == [20, 40, 60]
    # b / (8 + b)^2 is greatest at 8; 7 / 50 s + 16 ms exceed 100 ms, 4 / 50 s + 13 ms do not.
    assert [a.batch for a in found.assignments] == [5, 5, 5]
    assert [a.took_ns for a in found.assignments] == [13 * MS] * 3
    assert not found.shortfalls


def test_the_program_plans_the_same() -> None:
    rates = [50.0, 150.0, 90.0]
    assert DStackPlanner(program=True).plan(demand(rates)) == DStackPlanner().plan(demand(rates))


@pytest.mark.parametrize("options", [{}, {"batch": 4}, {"search": True}, {"program": True}])
def test_shares_are_those_that_the_profile_has(options: dict[str, Any]) -> None:
    whole = Table([1, 16], {"100": [9, 24]})
    lanes = MeasuredTimes(MeasuredModel(1, (1, 16), {"50": (9, 24), "100": (8, 23)}, (0, 0)), True)
    told = replace(demand([50, 50, 50]), profiles=(Affine(8 * MS, MS, 20), whole, lanes))
    found = DStackPlanner(**options, spare_percent=5, reduced=0.4).plan(told)
    own = list(zip(found.partitions, found.assignments, strict=True))
    shares = [[p.share_percent for p, a in own if a.service == k] for k in range(3)]
    assert shares[1] == [100]
    # 5 % to spare and 40 % of it are no lanes; the binary search ends above the first one.
    assert shares[2] == ([100, 50] if options.get("search") else [50])


def test_a_rate_above_a_device_goes_to_one_more_and_what_is_left_is_said() -> None:
    # A run of 8 takes 16 ms: at most 500 a second of 60 % each device.
    found = DStackPlanner().plan(demand([0, 0, 900], devices=2))
    on = [found.partitions[a.partition].device for a in found.assignments if a.service == 2]
    assert sorted(on) == [0, 1]
    assert not found.shortfalls
    (missed,) = DStackPlanner().plan(demand([0, 0, 1250], devices=2)).shortfalls
    assert (missed.service, missed.rate_per_s) == (2, pytest.approx(250))
    assert "120 % are left" in missed.reason


def test_memory_bounds_the_plan() -> None:
    found = DStackPlanner().plan(demand([10, 10, 10], memory=20))
    assert len(found.assignments) == 2
    assert [s.reason for s in found.shortfalls] == ["no device has the memory"]


def test_options_of_the_plan() -> None:
    wanted = demand([50, 50])
    fixed = DStackPlanner(batch=16, spare_percent=5).plan(wanted)
    assert [(a.batch, p.share_percent) for a, p in zip(fixed.assignments, fixed.partitions)] == [  # noqa: B905
        (16, 25),
        (16, 45),
    ]
    # Knees of 20 and 40 %, found within 5 % of time and a step of 5 % of the device.
    searched = DStackPlanner(search=True).plan(wanted)
    assert [p.share_percent for p in searched.partitions] == [22, 42]
    halves = DStackPlanner(reduced=0.5).plan(wanted)
    assert [p.share_percent for p in halves.partitions] == [20, 10, 40, 20]
    assert [p.share_percent for p in DStackPlanner(whole=True).plan(wanted).partitions] == [100] * 2
    for options in ({"batch": 0}, {"spare_percent": 101}, {"reduced": 1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            DStackPlanner(**options)  # type: ignore[arg-type]


def two(arrivals: list[list[float]], knee: int, devices: int = 1) -> Setting:
    services = [service("a", slo_ms=50, max_batch=4), service("b", slo_ms=100, max_batch=4)]
    load = load_of(services, arrivals)
    rates = [20.0, 20.0]
    return setting_of(services, load, [10, 20], None, rates, devices, knee_percent=knee)


def test_two_that_fit_run_side_by_side_and_two_that_do_not_run_in_turn() -> None:
    beside = checked(two([[0], [0]], knee=50), "dstack_at_knee")
    assert list(beside.record.ended_ns) == [10 * MS, 20 * MS]
    apart = checked(two([[0], [0]], knee=60), "dstack_at_knee")
    assert list(apart.record.ended_ns) == [10 * MS, 30 * MS]


def test_shares_are_above_the_knee_and_a_gap_takes_an_instance_below_it() -> None:
    """The paper's settings: 55 % each do not fit side by side, 55 and 33 % do."""
    setting = two([[0], [0]], knee=50)
    run = checked(setting, "dstack")
    shares = [p.share_percent for p in run.deployment.partitions]
    assert shares == [55, 33, 55, 33]
    assert [shares[k] for k in run.record.group_partition] == [55, 33]
    # 20 ms at the knee of 50 % are 30.3 ms on 33 %.
    assert run.record.ended_ns[1] == pytest.approx(30.3 * MS, rel=1e-3)


def test_a_turn_keeps_the_fill_from_its_share() -> None:
    # b's run of 20 ms from 40 on would outlast the beginning of a's turn at 50; a has no query.
    spec = PolicySpec("d", "dstack", {"lenient": False}, "dstack")
    run = checked(two([[], [40]], knee=60), spec)
    assert list(run.record.group_start_ns) == [50 * MS]
    free = checked(two([[], [40]], knee=60), "dstack_fill")
    assert list(free.record.group_start_ns) == [40 * MS]


def test_hopeless_queries_are_dropped_as_soon_as_they_are() -> None:
    setting = two([[0] * 21, []], knee=100)
    run = checked(setting, "dstack")
    total = summarise(run, setting.load, setting.demand.services, 1).total
    # The first runs alone as it comes, then batches of 4 in 10 ms, four of them by 50 ms.
    assert (total.in_time, total.dropped) == (17, 4)
    assert max(run.record.ended_ns) <= 50 * MS


def test_both_devices_serve_one_queue() -> None:
    services = [service("a", slo_ms=50, max_batch=1)]
    load = load_of(services, [[0, 0]])
    setting = setting_of(services, load, [20], rates_per_s=[60], devices=2)
    run = checked(setting, "dstack")
    assert list(run.record.ended_ns) == [20 * MS, 20 * MS]


def test_a_service_that_comes_back_and_a_lost_device_are_planned_for_while_others_serve() -> None:
    arrivals = [list(range(0, 200, 10)), list(range(5, 200, 20))]
    setting = replace(
        two(arrivals, knee=40, devices=2),
        changes=(
            (30 * MS, Change(ChangeKind.SERVICE_LEFT, 1)),
            (60 * MS, Change(ChangeKind.DEVICE_LOST, 0)),
            (100 * MS, Change(ChangeKind.SERVICE_CAME, 1)),
        ),
        reorganisation=ReorganisationParams(50 * MS, 5 * MS, 0.0, windows=1),
    )
    run = checked(setting, "dstack")
    tallies = summarise(run, setting.load, setting.demand.services, 2).services
    assert run.record.plans > 0
    assert tallies[0].in_time >= 17
    late = [q for q, when in enumerate(setting.load.arrival_ns) if when >= 110 * MS]
    assert all(run.record.outcome[q] == 1 for q in late)


def test_nothing_begins_in_anothers_slice() -> None:
    setting = two([[0, 41, 60], [0]], knee=100)
    run = checked(setting, "slices")
    starts = dict(zip(run.record.piece_service, run.record.group_start_ns, strict=False))
    # a's slice ends at 50; its run of 10 ms from 41 on would outlast it: it waits until 150.
    assert list(run.record.group_start_ns) == [0, 50 * MS, 150 * MS]
    assert starts[1] == 50 * MS
    dropped = checked(setting, "slices_drop")
    assert [int(o) for o in dropped.record.outcome].count(1) == 2
