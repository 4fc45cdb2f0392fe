"""gpulet's ground: only arithmetic is divided, and neighbours disturb each other."""

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

_BATCH = 32
_SHARES = (20, 40, 50, 60, 80, 100)


def _profile(draw: np.random.Generator) -> Document:
    item_ns = uniform(draw, 0.1, 2.5) * 1e6
    compute = uniform(draw, 0.2, 0.85)
    return {
        "kind": "bandwidth",
        "fixed_ns": round(item_ns * uniform(draw, 2, 12)),
        "unscaled_ns": round(item_ns * (1 - compute)),
        "compute_ns": round(item_ns * compute),
        "l2": uniform(draw, 0.2, 0.35, 2),
        "dram": uniform(draw, 0.05, 0.4, 2),
        "deviation": uniform(draw, 0.0, 0.04, 2),
    }


def _contention(draw: np.random.Generator, tables: list[Document]) -> Document:
    return {
        "kind": "contention",
        "l2": {f"s{k}": table["l2"] for k, table in enumerate(tables)},
        "dram": {f"s{k}": table["dram"] for k, table in enumerate(tables)},
        "l2_cost": uniform(draw, 0.2, 1.2, 2),
        "dram_cost": uniform(draw, 0.5, 2.5, 2),
        "half": uniform(draw, 2, 8, 1),
    }


def make(draw: np.random.Generator) -> Document:
    """Two to six models on one to four GPUs; targets of 1.2 to 3 batches."""
    devices = one_of(draw, (1, 2, 4))
    tables = [_profile(draw) for _ in range(whole(draw, 2, 6))]
    profiles = [profile_of(table) for table in tables]
    works_ns = [least_work_ns(profile, _BATCH // 2, _SHARES) for profile in profiles]

    def own(k: int) -> Document:
        return {
            "slo_ms": slo_ms(profiles[k], _BATCH, uniform(draw, 1.2, 3)),
            "max_batch": _BATCH,
        }

    services = services_of(draw, tables, works_ns, devices, own)
    truth = {"noise": {"kind": "lognormal"}, "interference": _contention(draw, tables)}
    return {"device": gpus(devices), "service": services, "truth": truth}


GPULETS = ScenarioFamily("GPUs whose memory is shared and disturbed (gpulet)", make)
