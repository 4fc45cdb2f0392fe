"""Services at their knees: static shares (GSLICE), max-throughput, max-min fair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.colocation import PolicySpec, policy_spec, simulate
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.policies.dstack.knee_shares import KneeShares
from surplus.colocation.policies.dstack.max_throughput import best_of
from surplus.colocation.policies.side_by_side import Ready
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.measured import MeasuredTimes
from surplus.colocation.profiles.measured_profile import MeasuredModel
from surplus.colocation.profiles.table import Table
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.simulation.simulator import Setting
from surplus.colocation.truths.truth import ProfileTruth
from tests.colocation.settings import MS, load_of, service, setting_of


def demand_of(
    profiles: list[LatencyProfile],
    slos_ms: list[float],
    devices: int = 1,
    max_batch: int = 16,
    memory_bytes: int | None = None,
) -> Demand:
    names = "abcd"[: len(profiles)]
    services = [service(n, s, max_batch) for n, s in zip(names, slos_ms, strict=True)]
    for one in services:
        object.__setattr__(one, "memory_bytes", 10)
    return Demand(
        tuple(services),
        tuple(profiles),
        (10.0,) * len(profiles),
        (1,) * len(profiles),
        (0,) * len(profiles),
        tuple(ServingDevice(f"gpu{k}", memory_bytes) for k in range(devices)),
    )


def law(knee_percent: int, fixed_ms: float = 4, per_item_ms: float = 1) -> Affine:
    return Affine(round(fixed_ms * MS), round(per_item_ms * MS), knee_percent)


def test_static_shares_are_the_knees_while_they_fit() -> None:
    found = KneeShares(static=True).plan(demand_of([law(30), law(60)], [50, 50]))
    assert [p.share_percent for p in found.partitions] == [30, 60]
    assert not found.on_demand
    # The largest batch that may follow another one: 2 (4 + b) <= 50.
    assert [a.batch for a in found.assignments] == [16, 16]


def test_knees_above_a_device_are_scaled_down_in_proportion() -> None:
    found = KneeShares(static=True).plan(demand_of([law(50), law(100), law(100)], [99, 99, 99]))
    assert [p.share_percent for p in found.partitions] == [20, 40, 40]


def test_a_batch_shrinks_with_its_share() -> None:
    found = KneeShares(static=True).plan(demand_of([law(100), law(100)], [25, 25]))
    # At the knee 2 (4 + 8) <= 25; at half of it (4 + b) x 2 <= 25 still holds for 8.
    assert [a.batch for a in found.assignments] == [8, 8]
    found = KneeShares(static=True).plan(demand_of([law(100)] * 3, [25] * 3))
    assert [a.batch for a in found.assignments] == [4, 4, 4]


def test_static_shares_use_every_device() -> None:
    found = KneeShares(static=True).plan(demand_of([law(40), law(50)], [50, 50], devices=3))
    assert [(a.service, found.partitions[a.partition].device) for a in found.assignments] == [
        (0, 0),
        (1, 1),
        (0, 2),
    ]
    assert [a.rate_per_s for a in found.assignments] == [5, 10, 5]


def test_what_does_not_fit_the_memory_is_a_shortfall() -> None:
    for static in (True, False):
        plan = KneeShares(static).plan(demand_of([law(40)] * 3, [50] * 3, memory_bytes=20))
        assert [(s.service, s.rate_per_s) for s in plan.shortfalls] == [(2, 10)]
        assert plan.served == {0, 1}


def test_a_profile_of_whole_devices_has_its_knee_there() -> None:
    whole = Table([1, 8], {"100": [4, 8]})
    found = KneeShares().plan(demand_of([whole, law(20)], [50, 50], max_batch=8))
    assert [p.share_percent for p in found.partitions] == [100, 20]
    with pytest.raises(ValueError, match="service 'a' at 83 %: no time for 83 %"):
        KneeShares(static=True).plan(demand_of([whole, law(20)], [50, 50], max_batch=8))


def test_static_shares_of_a_cpu_are_whole_lanes() -> None:
    lanes = MeasuredTimes(MeasuredModel(1, (1, 8), {"50": (4, 8), "100": (2, 4)}, (0, 0)), True)
    found = KneeShares(static=True).plan(demand_of([lanes, law(50)], [50, 50], max_batch=8))
    assert [p.share_percent for p in found.partitions] == [50, 33]  # 66 % is one lane of two


def ready(partition: int, share_percent: int, queries: int, took_ms: float) -> Ready:
    own = tuple(Query(k, partition, k, 0, 100 * MS) for k in range(queries))
    return Ready(partition, share_percent, own, round(took_ms * MS))


def test_max_throughput_prefers_a_pair_to_the_best_one() -> None:
    rows = [ready(0, 100, 10, 10), ready(1, 50, 6, 10), ready(2, 50, 5, 10)]
    assert best_of(rows, 100) is rows[1]
    assert best_of(rows[::2], 100) is rows[0]
    assert best_of(rows[1:], 60) is rows[1]


def setting_with(profiles: list[Affine], arrivals_ms: list[list[float]]) -> Setting:
    services = [service(name, 500, 4) for name in "abc"[: len(profiles)]]
    setting = setting_of(services, load_of(services, arrivals_ms), [1] * len(profiles))
    demand = replace(setting.demand, profiles=tuple(profiles))
    truth = ProfileTruth(demand.services, demand.profiles, NOISES.make("none"), 1)
    return replace(setting, demand=demand, truth=truth)


def spans(policy: str) -> list[tuple[int, int, int]]:
    """Service, start and end of each group: a is short and wide, b long and narrow."""
    setting = setting_with([law(60, 4, 0), law(30, 12, 0)], [[0, 1, 1], [1, 1]])
    record = simulate(setting, policy_spec(policy)).record
    rows = zip(record.piece_service, record.group_start_ns, record.group_end_ns, strict=True)
    return [(who, start // MS, end // MS) for who, start, end in rows]


@pytest.mark.parametrize("policy", ["max_throughput", "max_min"])
def test_services_run_side_by_side_within_a_device(policy: str) -> None:
    # Shares of 60 and 30 %: a at 0, b beside it at 1 (the first of its two queries).
    assert spans(policy)[:2] == [(0, 0, 4), (1, 1, 13)]


def test_the_smallest_demand_goes_first() -> None:
    setting = setting_with([law(100, 4, 0), law(60, 1, 0), law(50, 9, 0)], [[0], [1], [1]])
    order = {
        name: list(simulate(setting, policy_spec(name)).record.piece_service)
        for name in ("max_throughput", "max_min")
    }
    # When a ends, b answers more in a second and c demands less; they do not fit side by side.
    assert order == {"max_throughput": [0, 1, 2], "max_min": [0, 2, 1]}


@pytest.mark.parametrize("policy", ["max_throughput_drop", "max_min_drop", "gslice_drop"])
def test_a_query_that_would_be_late_is_dropped(policy: str) -> None:
    services = [service("a", 6, 1)]
    load = load_of(services, [[0, 1, 2]])
    record = simulate(setting_of(services, load, [4]), policy_spec(policy)).record
    assert list(record.outcome) == [1, 3, 1]


def test_gslice_is_static_shares_with_adaptive_batches() -> None:
    spec = policy_spec("gslice")
    assert spec == PolicySpec("gslice", "temporal", {}, "knee_shares", {"static": True})
