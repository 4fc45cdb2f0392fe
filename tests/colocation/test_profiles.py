from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.profile import PROFILES, part_ns
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.frame.work import Piece
from surplus.colocation.profiles.table import Table
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.results.metrics import jain
from tests.colocation.settings import MS, load_of, service, setting_of

HEADER = "model,start,end,bs,seq_len,model,start,end,bs,seq_len,median,mean,var\n"


def test_affine_has_a_knee() -> None:
    profile = PROFILES.make("affine", fixed_ns=10, per_item_ns=5, knee_percent=40)
    assert [profile.latency_ns(2, 0, share) for share in (100, 40, 20, 30)] == [20, 20, 40, 27]


def test_table_interpolates_and_does_not_reach_beyond() -> None:
    table = Table([2, 4], {"50": [10, 20], "100": [6, 12]})
    assert [table.latency_ns(b, 0, 100) / MS for b in (1, 2, 3, 4)] == [6, 6, 9, 12]
    assert table.latency_ns(3, 0, 75) == 12 * MS
    with pytest.raises(ValueError, match="batch of 5"):
        table.latency_ns(5, 0, 100)
    with pytest.raises(ValueError, match="no time for 40 %"):
        table.latency_ns(2, 0, 40)


@pytest.mark.parametrize(
    "options",
    [
        {"items": [], "ms": {"100": []}},
        {"items": [2, 1], "ms": {"100": [1, 2]}},
        {"items": [1], "ms": {}},
        {"items": [1], "ms": {"100": [1, 2]}},
        {"items": [1], "ms": {"100": [0]}},
        {"items": [1], "ms": {"101": [1]}},
        {"items": [1], "ms": {"half": [1]}},
    ],
)
def test_wrong_tables(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="profile 'table'"):
        PROFILES.make("table", **options)


def test_abacus_takes_whole_runs_of_the_model_alone(tmp_path: Path) -> None:
    rows = [
        "m,0,3,4,0,n,1,1,4,0,1000,1000,100",
        "n,2,2,4,0,m,0,3,4,0,3000,3000,300",
        "m,0,3,8,0,n,0,0,4,0,5000,5000,0",
        "m,0,2,8,0,n,0,0,4,0,1,1,0",
        "m,0,3,8,0,n,0,2,4,0,1,1,0",
    ]
    (tmp_path / "m_n.csv").write_text(HEADER + "\n".join(rows) + "\n")
    profile = PROFILES.make("abacus", folder=str(tmp_path), model="m", operators=3)
    assert profile.latency_ns(4, 0, 100) == 2 * MS
    assert profile.latency_ns(5, 0, 100) == 5 * MS
    assert profile.spread(4, 0) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="9 items"):
        profile.latency_ns(9, 0, 100)
    with pytest.raises(ValueError, match="never ran alone"):
        PROFILES.make("abacus", folder=str(tmp_path), model="z", operators=3)


@given(st.integers(1, 10**9), st.integers(1, 40), st.integers(0, 40))
def test_parts_sum_up_to_the_whole(whole_ns: int, operators: int, cut: int) -> None:
    cut = min(cut, operators)
    parts = part_ns(whole_ns, 0, cut, operators) + part_ns(whole_ns, cut, operators, operators)
    assert parts == whole_ns


def test_serial_predictor_adds_pieces_and_its_margin() -> None:
    services = (service("a", operators=4), service("b"))
    setting = setting_of(services, load_of(services, [[0], [0]]), [8, 3])
    predictor = PREDICTORS.make("serial", services, setting.demand.profiles, margin=0.5)
    half, whole = Piece(0, (), 0, 2, 1, 0), Piece(1, (), 0, 1, 1, 0)
    assert predictor.group_ns((half, whole), 100) == (6 + 4.5) * MS


@pytest.mark.parametrize("name", ["none", "exponential", "lognormal"])
def test_noise_has_mean_one(name: str) -> None:
    noise, stream = NOISES.make(name), stream_of(3, "a")
    factors = [noise(uniform(stream, k, 0), 0.3) for k in range(20_000)]
    mean = sum(factors) / len(factors)
    deviation = (sum((f - mean) ** 2 for f in factors) / len(factors)) ** 0.5
    assert mean == pytest.approx(1, abs=0.03)
    assert deviation == pytest.approx(
        {"none": 0, "exponential": 1, "lognormal": 0.3}[name], abs=0.04
    )


def test_jain() -> None:
    assert jain([1, 1, 1]) == 1
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([0, 0]) == 1


def demand_of(rates: list[float], slos_ms: list[int], devices: int) -> Demand:
    """L = 20 + 5 b ms, batches to 16."""
    services = tuple(Service(f"s{k}", slo * MS, 16) for k, slo in enumerate(slos_ms))
    profile = PROFILES.make("affine", fixed_ns=20 * MS, per_item_ns=5 * MS)
    count = len(services)
    machine = tuple(ServingDevice(f"gpu{k}") for k in range(devices))
    return Demand(services, (profile,) * count, tuple(rates), (1,) * count, (0,) * count, machine)


def test_nexus_gives_whole_devices_to_what_saturates_them() -> None:
    """2 L(16) = 200 <= 200 ms: 160/s a device; 10/s are left, b with (b-1) 100 + L <= 200: 2."""
    plan = PLANNERS.make("nexus").plan(demand_of([170], [200], 3))
    assert [(a.batch, a.duty_ns) for a in plan.assignments] == [(16, 100 * MS), (2, 170 * MS)]
    assert sum(a.rate_per_s for a in plan.assignments) == pytest.approx(170)


def test_nexus_merges_what_passes_the_acceptance_test() -> None:
    """Batches of 1, duty min(200 - 25, 1/4 s): 25 + 25 <= 175."""
    plan = PLANNERS.make("nexus").plan(demand_of([4, 4], [200, 200], 2))
    assert len(plan.partitions) == 1
    assert {a.duty_ns for a in plan.assignments} == {175 * MS}
    assert [a.batch for a in plan.assignments] == [1, 1]


def test_nexus_does_not_merge_what_would_be_late() -> None:
    apart = PLANNERS.make("nexus").plan(demand_of([60, 60], [200, 60], 2))
    assert len(apart.partitions) == 2
    full = PLANNERS.make("nexus").plan(demand_of([60, 60], [200, 60], 1))
    assert [s.service for s in full.shortfalls] == [1]
    assert "full" in full.shortfalls[0].reason


def test_nexus_says_which_target_is_too_short() -> None:
    plan = PLANNERS.make("nexus").plan(demand_of([5], [40], 1))
    assert "exceed the target" in plan.shortfalls[0].reason


@example([(119, 119)], 1)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(50, 400)), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_every_cycle_of_nexus_keeps_its_targets(
    tenants: list[tuple[int, int]], devices: int
) -> None:
    """By the profile itself: the sum of a cycle's batches <= duty, duty + L <= SLO."""
    demand = demand_of([float(r) for r, _ in tenants], [s for _, s in tenants], devices)
    plan = PLANNERS.make("nexus").plan(demand)
    for row in plan.of_partition:
        took = [demand.latency_ns(a.service, a.batch) for a in row]
        assert sum(took) <= min(a.duty_ns or 0 for a in row)
        for a, own in zip(row, took, strict=True):
            assert (a.duty_ns or 0) + own <= demand.services[a.service].slo_ns
    for k, (rate, _) in enumerate(tenants):
        placed = sum(a.rate_per_s for a in plan.assignments if a.service == k)
        missing = sum(short.rate_per_s for short in plan.shortfalls if short.service == k)
        assert placed + missing == pytest.approx(rate)
