"""Models to fill a cluster with: laws of the papers' forms, numbers drawn.

References
----------
As ``surplus.colocation``'s families: memory that cannot be divided (gpulet, ATC'22, section 2.3)
for one half, knees of 20 to 60 % (D-STACK, TCC'24, Table VI) for the other. Nothing is measured.
"""

from __future__ import annotations

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.node_kind import NodeKind
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.service import Service
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.bandwidth import Bandwidth

_BATCH = 32
_MB = 1 << 20


def made_up_models(
    count: int, kinds: tuple[NodeKind, ...], generator: np.random.Generator
) -> tuple[ClusterModel, ...]:
    """Models of 0.1 to 2 ms an item, 100 MB to 4 GB, and targets of 2.5 to 6 batches of eight.

    Four of five may be unloaded, if they answer within 10 s when they are asked for again. Each
    kind of node after the first is 1.5 times as fast as the one before.
    """
    return tuple(_model(k, kinds, generator) for k in range(count))


def _model(index: int, kinds: tuple[NodeKind, ...], generator: np.random.Generator) -> ClusterModel:
    item_ns = float(generator.uniform(0.1, 2.0)) * NS_PER_MS
    fixed_ns = item_ns * float(generator.uniform(1, 6))
    part = float(generator.uniform(0.2, 0.8))
    knee = int(generator.integers(20, 61))
    divided = bool(generator.random() < 0.5)
    targets = float(generator.uniform(2.5, 6.0))
    memory = float(np.exp(generator.uniform(np.log(100), np.log(4096)))) * _MB
    sleeps = bool(generator.random() < 0.8)
    profiles: dict[str, LatencyProfile] = {}
    for place, kind in enumerate(kinds):
        speed = 1.5**place
        fixed, item = round(fixed_ns / speed), round(item_ns / speed)
        compute = round(item * part)
        own = Bandwidth(fixed, item - compute, compute)
        profiles[kind.name] = own if divided else Affine(fixed, item, knee)
    slo_ns = round(targets * profiles[kinds[0].name].latency_ns(8, 0, 100))
    service = Service(f"m{index}", max(slo_ns, 10 * NS_PER_MS), _BATCH, memory_bytes=int(memory))
    return ClusterModel(service, profiles, first_answer_ns=10 * NS_PER_S if sleeps else None)
