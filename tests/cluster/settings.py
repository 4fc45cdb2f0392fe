"""Small clusters that several tests plan for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.cluster import ClusterDemand, ClusterModel, ClusterPlan, Fleet, NodeKind
from surplus.cluster.simulation.made_up_models import made_up_models
from surplus.colocation.frame.service import Service
from surplus.colocation.profiles.affine import Affine

MS = 1_000_000
S = 1_000_000_000
GB = 1 << 30
GPU = NodeKind("gpu", devices=1, memory_bytes=16 * GB)


def model(
    name: str = "m",
    slo_ms: float = 100,
    fixed_ms: float = 2,
    item_ms: float = 1,
    knee_percent: int = 100,
    max_batch: int = 16,
    memory_gb: float = 1,
    kinds: Sequence[str] = ("gpu",),
    in_time: float = 0.99,
    first_answer_s: float | None = None,
) -> ClusterModel:
    service = Service(name, round(slo_ms * MS), max_batch, memory_bytes=round(memory_gb * GB))
    profile = Affine(round(fixed_ms * MS), round(item_ms * MS), knee_percent)
    first_ns = None if first_answer_s is None else round(first_answer_s * S)
    profiles = dict.fromkeys(kinds, profile)
    return ClusterModel(service, profiles, in_time=in_time, first_answer_ns=first_ns)


def demand(
    models: Sequence[ClusterModel],
    rates_per_s: Sequence[float],
    nodes: int = 8,
    kind: NodeKind = GPU,
    previous: ClusterPlan | None = None,
) -> ClusterDemand:
    fleet = Fleet.of([(kind, nodes)])
    return ClusterDemand(tuple(models), tuple(rates_per_s), fleet, previous)


def mixed_demand(models: int, rate_per_s: float, nodes: int, seed: int = 1) -> ClusterDemand:
    """Models of all sorts, whose rates span four orders of magnitude."""
    generator = np.random.default_rng(seed)
    fleet = Fleet.of([(GPU, nodes)])
    made = made_up_models(models, fleet.kinds, generator)
    rates = np.exp(2 * generator.standard_normal(models))
    return ClusterDemand(made, tuple((rates * rate_per_s / rates.sum()).tolist()), fleet)


def served_per_s(plan: ClusterPlan, models: int) -> list[float]:
    rates = [0.0] * models
    for replica in plan.replicas:
        rates[replica.model] += replica.rate_per_s
    return rates
