"""Nexus's own example of squishy bin packing: which residues share a device."""

from __future__ import annotations

import pytest
from colocation_settings import MS

from colocation.deployment import Deployment
from colocation.planner import PLANNERS, Demand
from colocation.profiles.table import Table
from colocation.service import Device, Service

PROFILES_MS = {"a": [50, 75, 100], "b": [50, 90, 125], "c": [60, 95, 125]}
"""Times of batches of 4, 8 and 16: Nexus (SOSP'19), section 4.1 and its table of profiles."""
SLOS_MS = {"a": 200, "b": 250, "c": 250}


def demand_of(rates_per_s: dict[str, float], devices: int) -> Demand:
    names = list(rates_per_s)
    return Demand(
        services=tuple(Service(name, SLOS_MS[name] * MS, 16) for name in names),
        profiles=tuple(Table([4, 8, 16], {"100": PROFILES_MS[name]}) for name in names),
        rates_per_s=tuple(rates_per_s.values()),
        items=(1,) * len(names),
        sequences=(0,) * len(names),
        devices=tuple(Device(f"gpu{k}") for k in range(devices)),
    )


def plan(rates_per_s: dict[str, float], devices: int) -> Deployment:
    return PLANNERS.make("nexus").plan(demand_of(rates_per_s, devices))


def test_a_and_b_share_a_cycle_of_125_ms_and_c_does_not_fit() -> None:
    """8 of a (75 ms) and 4 of b (50 ms) fill 125 ms; 4 of c would take 60 ms more."""
    found = plan({"a": 64, "b": 32, "c": 32}, 3)
    together, alone = found.of_partition
    assert [(x.service, x.batch, x.duty_ns) for x in together] == [
        (0, 8, 125 * MS),
        (1, 4, 125 * MS),
    ]
    assert [x.service for x in alone] == [2]
    assert found.shortfalls == ()


def test_batches_that_fill_the_cycle_pass_and_one_ns_more_does_not() -> None:
    """a and c would take 75 + 60 ms of the same 125 ms."""
    assert len(plan({"a": 64, "c": 32}, 2).partitions) == 2
    assert len(plan({"a": 64, "b": 32}, 2).partitions) == 1


@pytest.mark.parametrize(("name", "full_per_s"), [("a", 160), ("b", 128), ("c", 128)])
def test_saturated_devices_run_the_largest_batch_twice_within_the_target(
    name: str, full_per_s: int
) -> None:
    found = plan({name: 2 * full_per_s}, 4)
    assert [x.batch for x in found.assignments] == [16, 16]
    assert [x.rate_per_s for x in found.assignments] == [full_per_s, full_per_s]


def test_what_no_device_is_left_for_is_said() -> None:
    (short,) = plan({"a": 64, "b": 32, "c": 32}, 1).shortfalls
    assert (short.service, short.rate_per_s) == (2, 32)
    assert "all 1 devices are full" in short.reason
