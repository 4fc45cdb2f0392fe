"""Loads that move and devices that are lost, with plans that follow."""

from __future__ import annotations

import numpy as np

from surplus.colocation.families import gpulets, knees
from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.tenants import gpus, one_of, uniform

_DEVICES = 3


def make(draw: np.random.Generator) -> Document:
    """Another family's models on three GPUs; rates in steps, one device away for a while."""
    document = one_of(draw, (knees.make, gpulets.make))(draw)
    factor = _DEVICES / len(document["device"])
    for service in document["service"]:
        load = service["load"]
        rate_per_s = load.get("rate_per_s") or float(np.mean(load["rates_per_s"]))
        steps = draw.uniform(0.6, 1.4, 4)
        rates = [float(f"{rate_per_s * factor * s:.4g}") for s in steps / steps.mean()]
        service["load"] = {"kind": "steps", "rates_per_s": rates, "step_s": 2.0}
    lost_s = uniform(draw, 1, 4, 2)
    return {
        **document,
        "device": gpus(_DEVICES),
        "change": [
            {"at_s": lost_s, "device": "gpu0", "state": "lost"},
            {"at_s": round(lost_s + 2.0, 2), "device": "gpu0", "state": "back"},
        ],
        "reorganise": {"period_s": 1.0, "takes_s": 0.5, "window_s": 0.25, "windows": 8},
    }


CHANGING = ScenarioFamily("loads in steps, a device that is lost, plans that follow", make)
