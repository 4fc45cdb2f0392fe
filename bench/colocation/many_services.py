"""Scenarios of many services whose targets, knees and batches differ."""

from __future__ import annotations

import numpy as np

from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.scenarios.scenario import Scenario, Tenant

MOST = 16


def many_services(
    services: int, devices: int, load: float, queries: int, items: tuple[int, ...]
) -> Scenario:
    """So many queries on the mean, that hold so much of the devices in large batches."""
    draw = np.random.default_rng(services)
    tenants = tuple(_tenant(draw, k, load * devices / services, items) for k in range(services))
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in tenants)
    return Scenario(
        name=f"{services} services",
        tenants=tenants,
        devices=tuple(ServingDevice(f"gpu{k}") for k in range(devices)),
        duration_ns=round(queries / rate_per_s * NS_PER_S),
        seed=services,
        policies=(),
        noise=NOISES.make("lognormal"),
    )


def _tenant(draw: np.random.Generator, index: int, load: float, items: tuple[int, ...]) -> Tenant:
    fixed_ns = int(draw.integers(NS_PER_MS, 10 * NS_PER_MS))
    each_ns = int(fixed_ns * draw.uniform(0.05, 0.5))
    knee = int(draw.choice([20, 30, 40, 50, 60, 100]))
    slo_ns = int(draw.uniform(4, 15) * (fixed_ns + each_ns))
    work_ns = (fixed_ns + each_ns * MOST / 2) / (MOST / 2) * knee / 100
    rate_per_s = load / (work_ns * sum(items) / len(items)) * NS_PER_S
    profile = Affine(fixed_ns, each_ns, knee, 0.05)
    return Tenant(Service(f"s{index}", slo_ns, MOST), profile, Poisson(rate_per_s), items)
