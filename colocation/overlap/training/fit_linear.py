"""Linear regression and a linear support vector machine: Abacus's lesser techniques.

References
----------
Abacus (SC'21), section 5.5. Its support vector machine is linear with an insensitivity of 0
(Chang, Lin 2011; Ho, Lin 2012): least absolute deviations with a ridge. Departure: solved by
iteratively reweighted least squares, which needs no library and no random numbers.
"""

from __future__ import annotations

import numpy as np

from surplus.colocation.overlap.latency_model import LatencyModel
from surplus.colocation.overlap.perceptron import Array, Perceptron
from surplus.colocation.overlap.training.samples import Samples
from surplus.colocation.overlap.training.scaling import Scaling

_ROUNDS = 100
_RIDGE = 1e-6
_LEAST_MS = 1e-4
"""Residuals below it weigh as much as it."""


def fit_linear(samples: Samples) -> LatencyModel:
    """Ordinary least squares."""
    return _fitted("linear", samples, rounds=1)


def fit_svm(samples: Samples) -> LatencyModel:
    """Least absolute deviations."""
    return _fitted("svm", samples, rounds=_ROUNDS)


def _fitted(kind: str, samples: Samples, rounds: int) -> LatencyModel:
    rows = samples.rows()
    scaling = Scaling.of(rows)
    inputs = np.hstack([scaling.applied(rows), np.ones((len(rows), 1))])
    importance = np.ones(len(rows))
    for _ in range(rounds):
        solution = _weighted(inputs, samples.median_ms, importance)
        residual_ms = np.abs(inputs @ solution - samples.median_ms)
        importance = 1.0 / np.maximum(residual_ms, _LEAST_MS)
    weight, bias = scaling.folded(solution[:-1, None], solution[-1:])
    return LatencyModel(kind, samples.layout, Perceptron((weight,), (bias,)))


def _weighted(inputs: Array, target: Array, importance: Array) -> Array:
    """Weighted least squares; the ridge keeps columns apart that say the same."""
    weighted = inputs * importance[:, None]
    normal = inputs.T @ weighted
    normal += _RIDGE * np.trace(normal) / len(normal) * np.eye(len(normal))
    return np.asarray(np.linalg.solve(normal, weighted.T @ target), np.float64)
