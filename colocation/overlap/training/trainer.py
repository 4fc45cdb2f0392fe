"""Trainers by name, and how well what they made predicts."""

from __future__ import annotations

import numpy as np

from surplus.colocation.frame.registry import Registry
from surplus.colocation.overlap.latency_model import LatencyModel
from surplus.colocation.overlap.training.fit_linear import fit_linear, fit_svm
from surplus.colocation.overlap.training.fit_mlp import MlpParams, fit_mlp
from surplus.colocation.overlap.training.samples import Samples

TRAINERS: Registry[LatencyModel] = Registry("latency model")
"""Factories take samples and a seed."""


@TRAINERS.register("mlp")
def _mlp(samples: Samples, seed: int, epochs: int = MlpParams.epochs) -> LatencyModel:
    return fit_mlp(samples, MlpParams(epochs=epochs, seed=seed))


@TRAINERS.register("linear")
def _linear(samples: Samples, seed: int) -> LatencyModel:
    return fit_linear(samples)


@TRAINERS.register("svm")
def _svm(samples: Samples, seed: int) -> LatencyModel:
    return fit_svm(samples)


def mean_error(model: LatencyModel, samples: Samples) -> float:
    """Mean absolute percentage error, as a share.

    References
    ----------
    Abacus (SC'21), eq. 1.
    """
    predicted_ms = model.latency_ms(samples.rows())
    return float(np.mean(np.abs(predicted_ms - samples.median_ms) / samples.median_ms))
