"""VELTAIR's ground: a CPU of 64 cores given out one by one, layers in versions, under pressure."""

from __future__ import annotations

import numpy as np

from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.tenants import filling_rates, one_of, some_load, uniform, whole

_NETWORKS = {
    "resnet50": (53, 15.0, 4_100.0),
    "derived_googlenet": (57, 15.0, 1_430.0),
    "derived_efficientnet_b0": (81, 10.0, 390.0),
    "derived_mobilenet_v2": (52, 10.0, 300.0),
    "derived_ssd300": (35, 100.0, 31_400.0),
    "derived_tiny_yolo_v2": (9, 10.0, 3_490.0),
    "derived_bert_large": (96, 130.0, 39_400.0),
}
"""Layers, target in milliseconds, and millions of operations that rates are guessed from."""
_NS_PER_MEGA = 1_900.0
_VERSIONS = ((1.00, 0.75), (1.04, 0.55), (1.09, 0.36), (1.16, 0.22), (1.25, 0.10))


def _service(draw: np.random.Generator, model: str, rate_per_s: float) -> Document:
    layers, target_ms, _ = _NETWORKS[model]
    return {
        "name": model.removeprefix("derived_"),
        "slo_ms": round(target_ms * uniform(draw, 0.8, 2), 2),
        "operators": layers,
        "load": some_load(draw, rate_per_s),
        "profile": {
            "kind": "layers",
            "path": "{data}/veltair/resnet50_layers_us.csv",
            "model": model,
            "versions": [{"time": time, "sensitivity": s} for time, s in _VERSIONS],
        },
    }


def make(draw: np.random.Generator) -> Document:
    """Two to four networks."""
    count = whole(draw, 2, 4)
    models = [str(model) for model in draw.choice(list(_NETWORKS), count, replace=False)]
    rates = filling_rates(draw, [_NETWORKS[model][2] * _NS_PER_MEGA for model in models], 1)
    pairs = zip(models, rates, strict=True)
    interference = {
        "kind": "pressure",
        "cores": 64,
        "sensitivities": [0.8, 0.6, 0.4, 0.25, 0.12],
        "exponent": one_of(draw, (1.0, 1.3, 1.6)),
    }
    return {
        "device": [{"name": "cpu", "cores": 64}],
        "service": [_service(draw, model, rate) for model, rate in pairs],
        "truth": {
            "noise": {"kind": "lognormal", "spread": uniform(draw, 0.02, 0.06, 2)},
            "interference": interference,
            "spawn_us": 220,
        },
    }


CORES = ScenarioFamily("64 cores, layers in versions, pressure (VELTAIR)", make, measured=True)
