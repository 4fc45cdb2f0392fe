"""gpulet's arithmetic by hand, its plans by an independent judge, its files against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surplus.colocation import read_scenario
from surplus.colocation.frame.deployment import Deployment, check_deployment
from surplus.colocation.frame.interference_model import UNIT_PPM
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition, Service, ServingDevice
from surplus.colocation.interference.contention import Contention
from surplus.colocation.policies.gpulet.belief import LinearParams
from surplus.colocation.policies.gpulet.duty_cycle import (
    merged_cycle,
    residual_cycle,
    saturated_cycle,
)
from surplus.colocation.policies.gpulet.floor import Floor
from surplus.colocation.policies.gpulet.ideal import GpuletIdeal
from surplus.colocation.policies.gpulet.latency_table import LatencyTable
from surplus.colocation.policies.gpulet.packing import Packing, PackingParams
from surplus.colocation.policies.gpulet.planner import Gpulet
from surplus.colocation.policies.gpulet.scheduler import Attempt, RateParams, Scheduler
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.bandwidth import Bandwidth
from surplus.colocation.results.validate_plan import PlannedBatch, validate_plan
from tests.colocation.settings import MS, group_of

FILES = Path(__file__).parents[2] / "bench/configs/colocation/gpulet"
MODELS = read_scenario(FILES / "models.toml").demand()
PLANS = ("squishy", "greedy_best_fit", "gpulet", "gpulet_ideal", "nexus")


def demand_of(
    rates: list[float], slos_ms: list[float], devices: int = 1, max_batch: int = 8
) -> Demand:
    """Services that take 2 ms and 1 ms an item, and gain from up to half of a device."""
    services = tuple(
        Service(f"s{k}", round(slo * MS), max_batch=max_batch) for k, slo in enumerate(slos_ms)
    )
    return Demand(
        services,
        tuple(Affine(2 * MS, MS, 50) for _ in services),
        tuple(rates),
        (1,) * len(services),
        (0,) * len(services),
        tuple(ServingDevice(f"gpu{k}") for k in range(devices)),
    )


def planned(name: str, demand: Demand, **options: bool) -> Deployment:
    plan = PLANNERS.make(name, **options).plan(demand)
    check_deployment(plan, demand.services, demand.devices)
    return plan


def slowed(table: LatencyTable, percent: int, factor: float) -> list[float]:
    """Times of the first service where everything takes so many times as long."""
    return [took_ns * factor for took_ns in table.row(0, percent)]


def test_the_knee_is_where_the_saturated_rate_stops_to_rise_steeply() -> None:
    """SLO 20 ms: batches of 8 in 10 ms from 50 %; on 20 % 2 in 10, on 40 % 6 in 10."""
    table = LatencyTable(demand_of([1], [20]))
    assert [table.saturated(0, p) for p in (20, 40, 50, 60, 100)] == [2, 6, 8, 8, 8]
    assert [table.full_per_ns(0, p) * 1e9 for p in (20, 40, 100)] == [200, 600, 800]
    assert table.knees((20, 40, 50, 60, 80, 100)) == [40]
    assert table.knees((50, 100)) == [100]
    assert table.least_ns(0, 50) == pytest.approx(10 * MS / 8)


def test_a_residual_gathers_the_largest_batch_that_is_in_time() -> None:
    """100 a second, SLO 50: b x 10 + 2 + b <= 50 for 4, which take 6 ms each 40."""
    table = LatencyTable(demand_of([1], [50]))
    cycle = residual_cycle(table, 0, 100, 100e-9, table.row(0, 100))
    assert cycle is not None
    assert (cycle.turns[0].batch, cycle.turns[0].took_ns) == (4, 6 * MS)
    assert cycle.duty_ns == pytest.approx(40 * MS)
    assert cycle.occupancy == pytest.approx(0.15)


def test_a_target_too_short_to_gather_one_query_gives_turns_of_one() -> None:
    """100 a second, SLO 9: a query comes every 10 ms, its turn every 9 - 3."""
    table = LatencyTable(demand_of([1], [9]))
    cycle = residual_cycle(table, 0, 100, 100e-9, table.row(0, 100))
    assert cycle is not None
    assert (cycle.turns[0].batch, cycle.duty_ns) == (1, 6 * MS)
    assert residual_cycle(table, 0, 100, 100e-9, slowed(table, 100, 1.6)) is None


def test_saturation_leaves_room_for_interference() -> None:
    table = LatencyTable(demand_of([1], [20]))
    cycle = saturated_cycle(table, 0, 100, slowed(table, 100, 1.25))
    assert cycle is not None
    assert (cycle.turns[0].batch, cycle.duty_ns) == (6, 10 * MS)
    assert saturated_cycle(table, 0, 20, slowed(table, 20, 2.0)) is None


def test_merged_batches_shrink_to_the_shorter_cycle() -> None:
    """SLOs 50 and 30 at 100 a second: cycles of 40 and 20; in 20, 2 each, 4 ms each."""
    table = LatencyTable(demand_of([1, 1], [50, 30]))
    row = table.row(0, 100)
    alone = [residual_cycle(table, k, 100, 100e-9, row) for k in (0, 1)]
    assert alone[0] is not None
    assert alone[1] is not None
    merged = merged_cycle(table, alone[0], alone[1], 100, lambda service: row)
    assert merged is not None
    assert merged.duty_ns == pytest.approx(20 * MS)
    assert [(turn.batch, turn.took_ns) for turn in merged.turns] == [(2, 4 * MS)] * 2
    slow = slowed(table, 20, 1.01)
    assert merged_cycle(table, alone[0], alone[1], 20, lambda service: slow) is None


def test_a_device_is_divided_at_the_knee_and_the_rest_is_served_beside_it() -> None:
    """600 a second saturate 40 %; 100 more need 20 %, and the other 60 % are there."""
    plan = planned("gpulet", demand_of([700], [20]), interference=False)
    assert plan.partitions == (Partition(0, 40), Partition(0, 60))
    assert [(a.batch, a.rate_per_s) for a in plan.assignments] == [
        (6, pytest.approx(600)),
        (1, pytest.approx(100)),
    ]


def test_as_few_devices_as_can_do_it() -> None:
    demand = demand_of([300, 300], [40, 40], devices=3)
    plan = planned("gpulet", demand)
    assert {partition.device for partition in plan.partitions} == {0}
    previous = Deployment(tuple(Partition(device) for device in range(3)), ())
    again = replace(demand, previous=previous)
    assert not planned("gpulet", again).shortfalls


def test_a_smaller_gpulet_joins_a_larger_one_and_frees_its_place() -> None:
    demand = demand_of([20, 90], [60, 45])
    floor = Floor([(20, 80)], elastic=False)
    packing = Packing(LatencyTable(demand), floor, PackingParams())
    assert not packing.place([(0, 20e-9)])
    assert [place for place, _ in floor.used()] == [(0, 0)]
    assert not packing.place([(1, 250e-9)])
    assert [(place, len(cycle.turns)) for place, cycle in floor.used()] == [((0, 1), 2)]


def test_a_rate_that_is_too_high_is_said_to_be_short() -> None:
    for name in PLANS:
        demand = demand_of([2000, 10], [20, 20])
        plan = planned(name, demand)
        short = sum(s.rate_per_s for s in plan.shortfalls if s.service == 0)
        assert 0 < short <= 2000
        assert not validate_plan(demand, plan)


@pytest.mark.parametrize("name", PLANS)
@example([(119, 119)], 1)
@given(
    st.lists(st.tuples(st.integers(1, 600), st.integers(5, 200)), min_size=1, max_size=6),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_every_plan_keeps_what_it_promises(
    name: str, tenants: list[tuple[int, int]], devices: int
) -> None:
    demand = demand_of([float(r) for r, _ in tenants], [float(s) for _, s in tenants], devices)
    assert not validate_plan(demand, planned(name, demand))


@example([400.0, 0.0, 200.0, 400.0, 100.0, 100.0, 400.0, 200.0, 100.0])
@given(st.lists(st.sampled_from([0.0, 100.0, 200.0, 400.0]), min_size=9, max_size=9))
@settings(max_examples=60, deadline=None)
def test_plans_stand_the_interference_that_they_believe_in(rates: list[float]) -> None:
    """And the exhaustive search serves whatever the elastic one serves."""
    demand = replace(MODELS, rates_per_s=tuple(rates))
    params = LinearParams()

    def used(batch: PlannedBatch) -> tuple[float, float]:
        profile = demand.profiles[batch.service]
        assert isinstance(profile, Bandwidth)
        return profile.utilisation(batch.items, batch.share_percent)

    def slowdown(own: PlannedBatch, beside: Sequence[PlannedBatch]) -> float:
        return max((params.factor(used(own), used(other)) for other in beside), default=1.0)

    plans = [planned(name, demand) for name in ("gpulet", "gpulet_ideal")]
    for plan in plans:
        assert not validate_plan(demand, plan, slowdown)
    assert plans[0].shortfalls or not plans[1].shortfalls


@pytest.mark.parametrize("name", ["squishy", "greedy_best_fit", "gpulet", "gpulet_ideal"])
@given(limits=st.lists(st.integers(0, 9), min_size=2, max_size=2), need=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_no_device_gets_more_than_its_memory_holds(name: str, limits: list[int], need: int) -> None:
    demand = demand_of([50, 300, 20], [60, 45, 100], devices=2)
    services = tuple(replace(service, memory_bytes=need) for service in demand.services)
    devices = tuple(ServingDevice(f"gpu{k}", limit) for k, limit in enumerate(limits))
    limited = replace(demand, services=services, devices=devices)
    plan = planned(name, limited)
    assert not validate_plan(limited, plan)
    assert plan.shortfalls or sum(limit // need for limit in limits) >= 3


def test_the_judge_sees_each_broken_promise() -> None:
    demand = demand_of([100, 100], [50, 30])
    plan = planned("squishy", demand)
    late = demand_of([100, 100], [50, 23])
    assert "exceed its target" in validate_plan(late, plan)[0]
    more = replace(demand, rates_per_s=(100.0, 130.0))
    assert "are planned" in validate_plan(more, plan)[0]
    slow = validate_plan(demand, plan, lambda own, beside: 2.6)
    assert any("turns of" in text for text in slow)


def test_a_search_tries_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 1 in both orders, and between them seven of all divisions and orders."""
    tried: list[tuple[tuple[int, ...], ...]] = []
    attempt = Scheduler.attempt

    def counted(own: Scheduler, *args: Any, **options: Any) -> Attempt:
        tried.append(tuple(args[2]))
        return attempt(own, *args, **options)

    monkeypatch.setattr(Scheduler, "attempt", counted)
    demand = demand_of([9000, 9000, 9000], [60, 45, 100], devices=4)
    some = GpuletIdeal(most=7).plan(demand)
    assert len(tried) == 9
    assert len(set(tried[1:-1])) == 7
    assert not validate_plan(demand, some)
    tried.clear()
    assert GpuletIdeal(most=10_000).plan(demand) == GpuletIdeal().plan(demand)
    with pytest.raises(ValueError, match="most must be"):
        GpuletIdeal(most=-1)


def test_padding_is_for_high_counts() -> None:
    assert RateParams().padded_per_s(100.0) == 100.0
    assert RateParams(0.99, 0.5).padded_per_s(100.0) == pytest.approx(132.9, abs=0.1)
    with pytest.raises(ValueError, match="percentile"):
        Gpulet(percentile=1.0)


def test_tables_of_profiles_are_kept() -> None:
    planner = Gpulet()
    first = planner.plan(MODELS)
    assert planner.plan(MODELS) == first
    assert Gpulet().plan(MODELS) == first


def test_bandwidth_divides_computation_only() -> None:
    law = Bandwidth(1000, 10, 30)
    assert [law.latency_ns(8, 0, p) for p in (100, 50, 20)] == [1320, 1560, 2280]
    for options, message in (({"l2": 1.1}, "l2 and dram"), ({"half": -1.0}, "half must be")):
        with pytest.raises(ValueError, match=message):
            Bandwidth(1, 1, 1, **options)


def test_contention_grows_with_both_and_with_the_batch() -> None:
    law = Contention(["a", "b"], {"a": 0.5, "b": 0.4}, {"a": 0.2}, half=4.0)

    assert law.slowdowns_ppm([group_of(0, 4)])[0] == UNIT_PPM
    # Half of 0.5 beside three quarters of 0.4, and no memory traffic of b.
    assert law.slowdowns_ppm([group_of(0, 4), group_of(1, 12)])[0] == UNIT_PPM + 75_000
    # Half of b's time is divided by its share: on a quarter it takes 2.5 times as long.
    divided = Contention(["a", "b"], {"a": 0.5, "b": 0.4}, {}, scaled={"b": 0.5})
    own, narrow_own = group_of(0, 4), group_of(0, 4, share_percent=25)
    other, narrow_other = group_of(1, 12), group_of(1, 12, share_percent=25)
    assert divided.slowdowns_ppm([own, narrow_other])[0] == UNIT_PPM + 30_000
    assert divided.slowdowns_ppm([narrow_own, other])[0] == UNIT_PPM + 75_000
    with pytest.raises(ValueError, match="unknown service 'c'"):
        Contention(["a"], {"c": 0.1}, {})


def test_contention_of_a_batch_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    law = Contention(["a"], {"a": 0.5}, {})
    utilisation = Mock(wraps=law.utilisation)
    monkeypatch.setattr(law, "utilisation", utilisation)
    assert law.extra((0, 4, 100), (0, 4, 100)) == law.extra((0, 4, 100), (0, 4, 100)) > 0
    utilisation.assert_called_once_with(0, 4, 100)
    assert law.of([0]).extra((0, 4, 100), (0, 4, 50)) > 0


@pytest.mark.parametrize("path", sorted(FILES.glob("*.toml")), ids=lambda path: path.stem)
def test_scenarios_agree_with_the_models(path: Path) -> None:
    scenario = read_scenario(path)
    for tenant in scenario.tenants:
        name = tenant.service.name
        stem = name if name in {s.name for s in MODELS.services} else name[:-1]
        known = {s.name: p for s, p in zip(MODELS.services, MODELS.profiles, strict=True)}
        assert tenant.profile == known[stem]
    law = scenario.interference
    assert isinstance(law, Contention)
    assert len(scenario.devices) == 4
    # What planners measure of a batch alone is what the law makes neighbours pay for.
    for index, tenant in enumerate(scenario.tenants):
        assert isinstance(tenant.profile, Bandwidth)
        for items, percent in ((1, 100), (4, 40), (32, 20), (32, 100)):
            measured = tenant.profile.utilisation(items, percent)
            assert measured == pytest.approx(law.utilisation(index, items, percent), rel=1e-3)
