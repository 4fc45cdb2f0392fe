"""D-STACK's ground: GPUs on which each model has a share beyond which more does not help."""

from __future__ import annotations

import numpy as np

from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.tenants import (
    gpus,
    least_work_ns,
    one_of,
    profile_of,
    services_of,
    slo_ms,
    uniform,
    whole,
)

_BATCH = 16
_SHARES = (10, 20, 30, 40, 50, 60, 80, 100)


def _profile(draw: np.random.Generator) -> Document:
    """A knee as of Table VI, or, of one in four, the kernels of equations 1 to 5."""
    if draw.random() < 0.25:
        return {
            "kind": "analytic",
            "parallelism": one_of(draw, (20, 40, 60)),
            "unit_ns": whole(draw, 1_000, 4_000),
            "deviation": 0.03,
        }
    took_ns = uniform(draw, 6, 60) * 1e6
    fixed = uniform(draw, 0.15, 0.45)
    return {
        "kind": "affine",
        "fixed_ns": round(took_ns * fixed),
        "per_item_ns": round(took_ns * (1 - fixed) / _BATCH),
        "knee_percent": one_of(draw, (20, 30, 40, 50, 60, 80)),
        "deviation": uniform(draw, 0.01, 0.06, 2),
    }


def make(draw: np.random.Generator) -> Document:
    """Two to seven models on one to four GPUs; targets of 1.6 to 4 batches."""
    devices = one_of(draw, (1, 1, 2, 4))
    tables = [_profile(draw) for _ in range(whole(draw, 2, 7))]
    profiles = [profile_of(table) for table in tables]
    works_ns = [least_work_ns(profile, _BATCH // 2, _SHARES) for profile in profiles]

    def own(k: int) -> Document:
        return {
            "slo_ms": slo_ms(profiles[k], _BATCH, uniform(draw, 1.6, 4)),
            "max_batch": _BATCH,
        }

    services = services_of(draw, tables, works_ns, devices, own)
    return {
        "device": gpus(devices),
        "service": services,
        "truth": {"noise": {"kind": "lognormal"}},
    }


KNEES = ScenarioFamily("GPUs and models with knees (D-STACK)", make)
