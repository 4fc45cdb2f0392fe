"""Three ConvNets that always have work, served by D-STACK's own planner and dispatcher.

References
----------
D-STACK (TCC'24), section 6.B: how near whole models come to the ideal of their kernels. Each
inference is a batch of one, of the published time at its knee.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench.dstack.runs import summary_of
from surplus.colocation import PolicySpec, Scenario
from surplus.colocation.arrivals.steady import Uniform
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.scenarios.scenario import Tenant

PATIENCE = 6
"""Targets, in times of the slowest inference: sessions in which everybody has several turns."""
MORE = 2.0
"""Queries that come, over those that a model alone answers: nobody ever waits for work."""


def always_busy(models: Mapping[str, tuple[int, float]], duration_ns: int) -> Scenario:
    """Models of (knee in percent, ms) on one device."""
    slo_ns = round(PATIENCE * max(took_ms for _, took_ms in models.values()) * NS_PER_MS)
    tenants = tuple(
        Tenant(
            Service(name, slo_ns),
            Affine(round(took_ms * NS_PER_MS), 0, knee),
            Uniform(MORE * 1000 / took_ms),
        )
        for name, (knee, took_ms) in models.items()
    )
    return Scenario(
        name="always busy",
        tenants=tenants,
        devices=(ServingDevice("gpu"),),
        duration_ns=duration_ns,
        seed=1,
        policies=(),
        noise=NOISES.make("none"),
        drain_ns=0,
    )


def use_and_inferences(scenario: Scenario, spec: PolicySpec) -> tuple[float, float]:
    """Share of the device in use, and inferences that were done before the arrivals end."""
    summary = summary_of(scenario, spec)
    return summary.utilisation, summary.total.served_per_s * scenario.duration_ns / NS_PER_S
