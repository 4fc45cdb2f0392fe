"""Nexus's own example of squishy bin packing: which residues share a device.

References
----------
Nexus (SOSP'19), section 4.1 with Table 2 and Fig. 2: (a) saturated, (b) residual workload.
"""

from __future__ import annotations

import pytest

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.profiles.table import Table
from tests.colocation.settings import MS

PROFILES_MS = {"a": {8: 75, 16: 100}, "b": {4: 50, 16: 125}, "c": {4: 60, 16: 125}}
"""The entries of Table 2 that the text reasons with; straight lines between."""
SLOS_MS = {"a": 200, "b": 250, "c": 250}
RESIDUES_PER_S = {"a": 64, "b": 32, "c": 32}
FULL_PER_S = {"a": 160, "b": 128, "c": 128}


def demand_of(rates_per_s: dict[str, float], devices: int) -> Demand:
    names = list(rates_per_s)
    rows = [PROFILES_MS[name] for name in names]
    return Demand(
        services=tuple(Service(name, SLOS_MS[name] * MS, 16) for name in names),
        profiles=tuple(Table(list(row), {"100": list(row.values())}) for row in rows),
        rates_per_s=tuple(rates_per_s.values()),
        items=(1,) * len(names),
        sequences=(0,) * len(names),
        devices=tuple(ServingDevice(f"gpu{k}") for k in range(devices)),
    )


def plan(rates_per_s: dict[str, float], devices: int) -> Deployment:
    return PLANNERS.make("nexus").plan(demand_of(rates_per_s, devices))


def test_a_and_b_share_a_cycle_of_125_ms_and_c_does_not_fit() -> None:
    """8 of a (75 ms) and 4 of b (50 ms) fill 125 ms; 4 of c would take 60 ms."""
    found = plan(RESIDUES_PER_S, 3)
    together, alone = found.of_partition
    assert [(x.service, x.batch, x.duty_ns) for x in together] == [
        (0, 8, 125 * MS),
        (1, 4, 125 * MS),
    ]
    assert [x.service for x in alone] == [2]
    assert found.shortfalls == ()


def test_worst_latencies_are_200_ms_of_200_and_175_of_250() -> None:
    together, _ = plan(RESIDUES_PER_S, 3).of_partition
    worst_ms = [x.duty_ns // MS + PROFILES_MS["ab"[x.service]][x.batch] for x in together]
    assert worst_ms == [200, 175]


@pytest.mark.parametrize(("other", "devices"), [("b", 1), ("c", 2)])
def test_b_may_join_a_and_c_may_not(other: str, devices: int) -> None:
    found = plan({name: RESIDUES_PER_S[name] for name in ("a", other)}, 2)
    assert len(found.partitions) == devices


@pytest.mark.parametrize("name", FULL_PER_S)
def test_saturated_devices_run_the_largest_batch_twice_within_the_target(name: str) -> None:
    full_per_s = FULL_PER_S[name]
    found = plan({name: 2 * full_per_s}, 4)
    assert [x.batch for x in found.assignments] == [16, 16]
    assert [x.rate_per_s for x in found.assignments] == [full_per_s, full_per_s]


def test_what_no_device_is_left_for_is_said() -> None:
    (short,) = plan(RESIDUES_PER_S, 1).shortfalls
    assert (short.service, short.rate_per_s) == (2, 32)
    assert "all 1 devices are full" in short.reason
