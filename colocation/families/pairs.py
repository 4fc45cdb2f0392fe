"""Abacus's ground: its measured models, two or three of them on an undivided GPU."""

from __future__ import annotations

import numpy as np

from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.tenants import filling_rates, gpus, some_load, uniform

_MODELS = {
    "resnet50": (18, 14.0),
    "resnet101": (35, 25.0),
    "resnet152": (52, 36.0),
    "inception_v3": (14, 16.0),
    "vgg16": (19, 32.0),
    "vgg19": (22, 38.0),
    "bert": (12, 16.0),
}
"""Operators, and milliseconds that rates are guessed from and targets are multiples of."""


def make(draw: np.random.Generator) -> Document:
    """Models of SC'21 with its batches and lengths; one target for all."""
    count = 2 if draw.random() < 0.7 else 3
    names = [str(name) for name in draw.choice(list(_MODELS), count, replace=False)]
    target_ms = uniform(draw, 2.5, 5, 1) * max(_MODELS[name][1] for name in names)
    rates = filling_rates(draw, [_MODELS[name][1] * 1e6 for name in names], 1)
    services = [
        {
            "name": name,
            "slo_ms": round(target_ms, 1),
            "operators": _MODELS[name][0],
            "items": [4, 8, 16, 32],
            **({"sequences": [8, 16, 32, 64]} if name == "bert" else {}),
            "load": some_load(draw, rate),
            "profile": {
                "kind": "abacus",
                "folder": "{data}",
                "model": name,
                "operators": _MODELS[name][0],
            },
        }
        for name, rate in zip(names, rates, strict=True)
    ]
    told = {"predictor": {"path": "mlp.npz" if count == 2 else "mlp_four.npz"}}
    return {
        "device": gpus(1),
        "service": services,
        "truth": {"measured": {"path": "truth.npz"}, "noise": {"kind": "lognormal"}},
        "policy_options": dict.fromkeys(("abacus", "abacus_pipelined"), told),
    }


PAIRS = ScenarioFamily("Abacus's measured models, whole and side by side", make, measured=True)
