"""A CPU of some lanes: urgent short queries beside patient long ones, in bursts, unbatched."""

from __future__ import annotations

import numpy as np

from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.tenants import (
    least_work_ns,
    one_of,
    profile_of,
    services_of,
    uniform,
    whole,
)


def _profile(draw: np.random.Generator, lanes: int) -> Document:
    """Times on each number of lanes by Amdahl's law; a batch saves little."""
    alone_ms = uniform(draw, 4, 80)
    serial = uniform(draw, 0.05, 0.35)
    saved = uniform(draw, 0.0, 0.3)
    rows = {
        str(100 * k // lanes): [
            round(alone_ms * (serial + (1 - serial) / k) * (items - saved * (items - 1)), 3)
            for items in (1, 4)
        ]
        for k in range(1, lanes + 1)
    }
    return {"kind": "table", "items": [1, 4], "ms": rows, "deviation": uniform(draw, 0.03, 0.15, 2)}


def make(draw: np.random.Generator) -> Document:
    """Two to five models on two or four lanes; targets of 2 to 60 times the time on one lane."""
    lanes = one_of(draw, (2, 2, 4))
    shares = tuple(100 * k // lanes for k in range(1, lanes + 1))
    tables = [_profile(draw, lanes) for _ in range(whole(draw, 2, 5))]
    profiles = [profile_of(table) for table in tables]
    works_ns = [least_work_ns(profile, 1, shares) for profile in profiles]

    def own(k: int) -> Document:
        return {
            "slo_ms": round(
                tables[k]["ms"][str(shares[0])][0] * one_of(draw, (2, 3, 5, 15, 60)), 2
            ),
            "max_batch": one_of(draw, (1, 1, 4)),
            "operators": 8,
        }

    services = services_of(draw, tables, works_ns, 1, own)
    truth = {
        "noise": {"kind": "lognormal"},
        "side_by_side": "lanes",
        "interference": {"kind": "pairwise", "default": uniform(draw, 0.0, 0.12, 2)},
    }
    options = {"predictor": {"kind": "lanes", "lanes": lanes}}
    return {
        "device": [{"name": "cpu", "lanes": lanes}],
        "service": services,
        "truth": truth,
        "policy_options": dict.fromkeys(("abacus", "abacus_pipelined"), options),
    }


LANES = ScenarioFamily("a CPU's lanes, targets far apart, mostly unbatched", make)
