"""A perceptron of three hidden layers of 32, fitted by stochastic gradient descent.

References
----------
Abacus (SC'21), section 5.5 and its release: ReLU, squared error of the median latency in
milliseconds, batches of 128, 250 epochs, a learning rate that decays as a cosine.
Kingma, Ba: Adam, ICLR 2015. Departure: Adam's steps instead of plain descent, which on scaled
inputs get there in fewer epochs; the loss, the layers and the schedule are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import cos, pi

import numpy as np
import numpy.typing as npt

from surplus.colocation.overlap.latency_model import LatencyModel
from surplus.colocation.overlap.perceptron import Array, Perceptron
from surplus.colocation.overlap.training.samples import Samples
from surplus.colocation.overlap.training.scaling import Scaling

_DECAY_MEAN, _DECAY_SQUARE, _TINY = 0.9, 0.999, 1e-8
_Single = npt.NDArray[np.float32]
_Layers = list[_Single]


@dataclass(frozen=True)
class MlpParams:
    """How to fit.

    Parameters
    ----------
    hidden : tuple of int
        Width of each hidden layer.
    epochs, batch : int
        Passes over the samples; samples a step.
    learning_rate : float
        Of the first step.
    seed : int
        Of the first weights and of the order of the samples.

    Raises
    ------
    ValueError
        If a number is not > 0.
    """

    hidden: tuple[int, ...] = (32, 32, 32)
    epochs: int = 250
    batch: int = 128
    learning_rate: float = 1e-2
    seed: int = 1

    def __post_init__(self) -> None:
        if min((self.epochs, self.batch, *self.hidden)) < 1 or not self.learning_rate > 0:
            raise ValueError(f"{self}: sizes must be >= 1, the learning rate > 0")


def fit_mlp(samples: Samples, params: MlpParams = MlpParams()) -> LatencyModel:
    """Fit medians; the same samples and parameters give the same model."""
    unit_ms = float(samples.median_ms.mean())
    fitted = fit_perceptron(samples.rows(), samples.median_ms / unit_ms, params)
    *weights, last = fitted.weights
    *biases, offset = fitted.biases
    scaled = Perceptron((*weights, last * unit_ms), (*biases, offset * unit_ms))
    return LatencyModel("mlp", samples.layout, scaled)


def fit_perceptron(rows: Array, target: Array, params: MlpParams) -> Perceptron:
    """Minimise the squared error; the target should be about 1 in size."""
    scaling = Scaling.of(rows)
    inputs = scaling.applied(rows).astype(np.float32)
    generator = np.random.default_rng(params.seed)
    layers = _first(generator, (inputs.shape[1], *params.hidden, 1))
    moments = [(np.zeros_like(values), np.zeros_like(values)) for values in layers]
    wanted = target.astype(np.float32)[:, None]
    for step, (chosen, rate) in enumerate(_steps(generator, len(inputs), params), 1):
        gradients = _gradients(layers, inputs[chosen], wanted[chosen])
        rate *= (1 - _DECAY_SQUARE**step) ** 0.5 / (1 - _DECAY_MEAN**step)
        for values, gradient, (mean, square) in zip(layers, gradients, moments, strict=True):
            mean += (1 - _DECAY_MEAN) * (gradient - mean)
            square += (1 - _DECAY_SQUARE) * (gradient * gradient - square)
            values -= rate * mean / (np.sqrt(square) + _TINY)
    first, bias, *rest = (values.astype(np.float64) for values in layers)
    first, bias = scaling.folded(first, bias)
    return Perceptron((first, *rest[0::2]), (bias, *rest[1::2]))


def _first(generator: np.random.Generator, widths: tuple[int, ...]) -> _Layers:
    """Weights (He et al. 2015) and biases in turn."""
    layers: _Layers = []
    for inputs, outputs in pairwise(widths):
        scale = (2.0 / inputs) ** 0.5
        layers.append((generator.standard_normal((inputs, outputs)) * scale).astype(np.float32))
        layers.append(np.zeros(outputs, np.float32))
    return layers


def _steps(
    generator: np.random.Generator, count: int, params: MlpParams
) -> Iterator[tuple[npt.NDArray[np.int64], float]]:
    """Samples and learning rate of each step."""
    steps = -(-count // params.batch)
    for epoch in range(params.epochs):
        order = generator.permutation(count)
        for step in range(steps):
            done = (epoch * steps + step) / (params.epochs * steps)
            rate = params.learning_rate * (1 + cos(pi * done)) / 2
            yield order[step * params.batch : (step + 1) * params.batch], rate


def _gradients(layers: _Layers, inputs: _Single, wanted: _Single) -> _Layers:
    """Back-propagate half the mean squared error; in the order of ``layers``."""
    values = [inputs]
    last = len(layers) - 2
    for place in range(0, len(layers), 2):
        out = values[-1] @ layers[place] + layers[place + 1]
        values.append(out if place == last else np.maximum(out, 0))
    error = (values.pop() - wanted) / len(inputs)
    gradients: _Layers = []
    for place in range(last, -2, -2):
        below = values.pop()
        gradients += [error.sum(axis=0), np.asarray(below.T @ error, np.float32)]
        if place:
            error = (error @ layers[place].T) * (below > 0)
    return gradients[::-1]
