"""Times that vary widely around what profiles say: few large batches, long tails."""

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

_BATCH = 8
_SHARES = (10, 20, 30, 40, 50, 60, 80, 100)


def _profile(draw: np.random.Generator) -> Document:
    took_ns = uniform(draw, 3, 40) * 1e6
    fixed = uniform(draw, 0.1, 0.7)
    return {
        "kind": "affine",
        "fixed_ns": round(took_ns * fixed),
        "per_item_ns": round(took_ns * (1 - fixed) / _BATCH),
        "knee_percent": one_of(draw, (30, 50, 70, 100)),
        "deviation": uniform(draw, 0.1, 0.4, 2),
    }


def make(draw: np.random.Generator) -> Document:
    """Two to six models on one or two GPUs; targets of 2 to 12 batches."""
    devices = one_of(draw, (1, 2))
    tables = [_profile(draw) for _ in range(whole(draw, 2, 6))]
    profiles = [profile_of(table) for table in tables]
    works_ns = [least_work_ns(profile, _BATCH // 2, _SHARES) for profile in profiles]

    def own(k: int) -> Document:
        return {
            "slo_ms": slo_ms(profiles[k], _BATCH, uniform(draw, 2, 12)),
            "max_batch": one_of(draw, (1, 4, _BATCH)),
        }

    services = services_of(draw, tables, works_ns, devices, own)
    truth = {
        "noise": {"kind": "lognormal"},
        "interference": {"kind": "pairwise", "default": uniform(draw, 0.0, 0.1, 2)},
    }
    return {"device": gpus(devices), "service": services, "truth": truth}


TAILS = ScenarioFamily("GPUs and times with long tails, targets far apart", make)
