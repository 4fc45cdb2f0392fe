"""Fits a ground truth of operator groups to measured samples."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from surplus.colocation.overlap.group_times import GroupTimes, estimate_row
from surplus.colocation.overlap.perceptron import Array
from surplus.colocation.overlap.training.fit_mlp import MlpParams, fit_perceptron
from surplus.colocation.overlap.training.samples import Samples

TRUTH_PARAMS = MlpParams(hidden=(64, 64, 64), epochs=120, batch=256, learning_rate=5e-3, seed=101)
_MEMBERS = 2
_ERRORS = 2000
"""Kept of each kind; they are in random order."""
_SHARE = 0.8
_SPLIT_SEED = 7
"""Another split than a latency model's, so that neither is fitted to just the other's samples."""


def fit_times(samples: Samples, params: MlpParams = TRUTH_PARAMS) -> GroupTimes:
    """Fit a regressor of logarithms to four fifths; its errors come from the rest.

    Raises
    ------
    ValueError
        If the rest has no groups of one or of two models.
    """
    seen, unseen = samples.split(_SHARE, _SPLIT_SEED)
    rows, target = _rows(seen), np.log(seen.median_ms)
    members = tuple(
        fit_perceptron(
            rows,
            target,
            MlpParams(
                params.hidden, params.epochs, params.batch, params.learning_rate, params.seed + k
            ),
        )
        for k in range(_MEMBERS)
    )
    estimate_ms = np.exp(np.mean([member(_rows(unseen)) for member in members], axis=0))
    errors = np.column_stack([unseen.median_ms / estimate_ms, unseen.spread])
    sizes = np.array([len(group) for group in unseen.groups])
    if not (sizes == 1).any() or not (sizes == 2).any():
        raise ValueError("group times need samples of one model alone and of two")
    kept = (errors[sizes == 1][:_ERRORS], errors[sizes == 2][:_ERRORS])
    return GroupTimes(samples.layout, members, _alone(samples), kept)


def held_out_error(times: GroupTimes) -> float:
    """Mean absolute error of the estimates of unseen samples, over the measured times."""
    ratio = np.concatenate([errors[:, 0] for errors in times.errors])
    return float(np.mean(np.abs(1 / ratio - 1)))


def _rows(samples: Samples) -> Array:
    return np.array([estimate_row(samples.layout, group) for group in samples.groups])


def _alone(samples: Samples) -> Array:
    """Medians of each model alone and whole, over all files."""
    found = defaultdict(list)
    for place, group in enumerate(samples.groups):
        if len(group) == 1:
            model, start, end, items, sequence = group[0]
            if start == 0 and end == samples.layout.operators[model]:
                found[model, items, sequence].append(place)
    table = [
        (*key, np.median(samples.median_ms[places]), np.median(samples.spread[places]))
        for key, places in sorted(found.items())
    ]
    return np.array(table, np.float64).reshape(len(table), 5)
