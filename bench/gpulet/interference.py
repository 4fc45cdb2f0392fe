"""Fits gpulet's linear interference model, and how far it is from the contention law it sees.

References
----------
gpulet (ATC'22), section 4.4: 1,250 pairs of five models, five batches each and five ways of
dividing a device, 1,750 of their 2,500 times for the fit and the others to judge it. Departure:
both times of a pair are on the same side of that split. The "measurements" are the stated law's,
with an error of 3 %; nothing here was run on a GPU.
"""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.infrastructure import result_file
from surplus.colocation import read_scenario
from surplus.colocation.interference.contention import Contention
from surplus.colocation.policies.gpulet.belief import LinearParams

MODELS = Path(__file__).parents[1] / "configs/colocation/gpulet/models.toml"
CHOSEN = ("goo", "le", "res", "ssd", "vgg")
BATCHES = (2, 4, 8, 16, 32)
RATIOS = ((20, 80), (40, 60), (50, 50), (60, 40), (80, 20))
"""Percent of the device, of the two of a pair."""
TRAINING = 875
"""Pairs."""
ERROR = 0.03
SEED = 1

Matrix = npt.NDArray[np.float64]


def samples() -> tuple[Matrix, Matrix]:
    """Utilisations (L2 own, other, DRAM own, other, 1) and measured factors, two rows a pair."""
    scenario = read_scenario(MODELS)
    law = scenario.interference
    assert isinstance(law, Contention)
    index = {service.name: k for k, service in enumerate(scenario.services)}
    features, factors = [], []
    for a, b in combinations(CHOSEN, 2):
        for batch, other, (percent, rest) in product(BATCHES, BATCHES, RATIOS):
            pair = ((index[a], batch, percent), (index[b], other, rest))
            for own, beside in (pair, pair[::-1]):
                (l2, dram), (l2_other, dram_other) = law.utilisation(*own), law.utilisation(*beside)
                features.append((l2, l2_other, dram, dram_other, 1.0))
                factors.append(1.0 + law.extra(own, beside))
    true = np.array(factors)
    noise = np.random.default_rng(SEED).normal(1.0, ERROR, len(true))
    return np.array(features), np.maximum(1.0, true * noise)


def split(pairs: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows to fit and rows to judge, no pair in both."""
    order = np.random.default_rng(SEED + 1).permutation(pairs)
    rows = np.stack([2 * order, 2 * order + 1], axis=1)
    return rows[:TRAINING].ravel(), rows[TRAINING:].ravel()


def main() -> None:
    """Fit, judge on what was left out, store."""
    features, factors = samples()
    training, held_out = split(len(factors) // 2)
    found, *_ = np.linalg.lstsq(features[training], factors[training], rcond=None)
    error = np.abs(features[held_out] @ found / factors[held_out] - 1)
    row = {
        "pairs": len(factors) // 2,
        "overhead, 90 % of pairs": float(np.quantile(factors - 1, 0.9)),
        "error, 90 % of pairs": float(np.quantile(error, 0.9)),
        "error, 95 % of pairs": float(np.quantile(error, 0.95)),
        "L2 own": float(found[0]),
        "L2 other": float(found[1]),
        "DRAM own": float(found[2]),
        "DRAM other": float(found[3]),
        "constant": float(found[4]),
    }
    own = LinearParams()
    rows = [
        {"of": "ours, synthetic law", **row},
        {
            "of": "paper, 2080 Ti",
            "pairs": 1250,
            "overhead, 90 % of pairs": 0.18,
            "error, 90 % of pairs": 0.1026,
            "error, 95 % of pairs": 0.1398,
            "L2 own": 0.113,
            "L2 other": 0.716,
            "DRAM own": 0.355,
            "DRAM other": 0.088,
            "constant": 0.895,
        },
    ]
    config = {"models": CHOSEN, "batches": BATCHES, "measuring_error": ERROR, "seed": SEED}
    result_file.write("gpulet_interference", config | {"in_use": repr(own)}, rows)
    result_file.show("gpulet's interference model", rows)


if __name__ == "__main__":
    main()
