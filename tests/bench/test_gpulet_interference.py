from __future__ import annotations

import numpy as np

from bench.gpulet.interference import TRAINING, samples, split
from surplus.colocation.policies.gpulet.belief import LinearParams


def test_pairs_differ_and_none_is_on_both_sides_of_the_split() -> None:
    features, _ = samples()
    assert len(np.unique(features, axis=0)) == len(features) == 2500
    training, held_out = split(len(features) // 2)
    assert len(training) == 2 * TRAINING
    assert not set(training // 2) & set(held_out // 2)
    assert sorted([*training, *held_out]) == list(range(len(features)))


def test_the_planner_believes_what_the_fit_says() -> None:
    features, factors = samples()
    training, held_out = split(len(features) // 2)
    found, *_ = np.linalg.lstsq(features[training], factors[training], rcond=None)
    own = LinearParams()
    used = (own.l2_own, own.l2_other, own.dram_own, own.dram_other, own.constant)
    np.testing.assert_allclose(used, found, atol=1e-3)
    error = np.abs(features[held_out] @ found / factors[held_out] - 1)
    assert np.quantile(error, 0.9) < 0.1026, "the paper's own error"
