"""Devices that are not divided: models with times on the whole, queries of several items."""

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

_ITEMS = (1, 4, 16, 32)


def _profile(draw: np.random.Generator) -> Document:
    first_ms = uniform(draw, 2, 20)
    grows = uniform(draw, 0.35, 1.0)
    times = [round(first_ms * items**grows, 3) for items in _ITEMS]
    spread = uniform(draw, 0.01, 0.08, 2)
    return {"kind": "table", "items": list(_ITEMS), "ms": {"100": times}, "deviation": spread}


def make(draw: np.random.Generator) -> Document:
    """Two to five models on one or two devices; what runs in one group saves up to a third."""
    devices = one_of(draw, (1, 1, 2))
    tables = [_profile(draw) for _ in range(whole(draw, 2, 5))]
    profiles = [profile_of(table) for table in tables]
    sizes = [one_of(draw, ([1], [1, 2, 4], [4, 8, 16])) for _ in tables]
    means = [sum(own) / len(own) for own in sizes]
    works_ns = [
        mean * least_work_ns(profile, 8, (100,))
        for mean, profile in zip(means, profiles, strict=True)
    ]

    def own(k: int) -> Document:
        return {
            "slo_ms": slo_ms(profiles[k], 16, uniform(draw, 1.5, 6)),
            "max_batch": 32,
            "items": sizes[k],
            "operators": 12,
        }

    services = services_of(draw, tables, works_ns, devices, own)
    truth = {"noise": {"kind": "lognormal"}, "overlap": uniform(draw, 0.0, 0.35, 2)}
    return {"device": gpus(devices), "service": services, "truth": truth}


WHOLE_DEVICES = ScenarioFamily("undivided devices, queries of several items, overlap", make)
