"""``python -m bench abacus_models --data DIR``: make the models that the Abacus scenarios name.

The four of pairs are fitted to the published measurements; that of four models to groups drawn as
section 5.4 says, timed by the ground truth, because nobody published any. Each needs half a
minute; those that are there are left alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from surplus.colocation.overlap.group_times import load_group_times
from surplus.colocation.overlap.training.fit_times import fit_times
from surplus.colocation.overlap.training.instances import instance_groups, samples_of
from surplus.colocation.overlap.training.samples import Samples, read_samples
from surplus.colocation.overlap.training.trainer import TRAINERS
from surplus.engine.atomic_file import write_atomic

FOLDER = Path(__file__).parents[1] / "configs" / "colocation" / "abacus_models"
MODELS = ("resnet50", "resnet101", "resnet152", "inception_v3", "vgg16", "vgg19", "bert")
FOUR = ("resnet101", "resnet152", "vgg19", "bert")
ITEMS = (4, 8, 16, 32)
SEQUENCES = (8, 16, 32, 64)
SHARE, SEED = 0.8, 1
GROUPS = 2000
"""Of each set of models in ``mlp_four``, as in the paper."""


def four_samples() -> Samples:
    """Groups of two, three and four of the models of section 7.4, by the ground truth."""
    times = load_group_times(FOLDER / "truth.npz")
    names = times.layout.models
    lengths = [SEQUENCES if name == "bert" else (0,) for name in names]
    generator = np.random.default_rng(SEED)
    groups = []
    for count in (1, 2, 3, 4):
        sets = list(combinations([names.index(name) for name in FOUR], count))
        for models in sets:
            drawn = instance_groups(times.layout, models, ITEMS, lengths, generator)
            groups += islice(drawn, GROUPS if count > 1 else GROUPS // 10)
    return samples_of(times, groups, slots=4)


def main() -> int:
    """Write the files that are missing."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_models", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()
    samples = read_samples(args.data, MODELS)
    seen, _ = samples.split(SHARE, SEED)
    makers: dict[str, Callable[[], bytes]] = {
        "truth": lambda: fit_times(samples).to_bytes(),
        "linear": lambda: TRAINERS.make("linear", seen, SEED).to_bytes(),
        "svm": lambda: TRAINERS.make("svm", seen, SEED).to_bytes(),
        "mlp": lambda: TRAINERS.make("mlp", seen, SEED).to_bytes(),
        "mlp_four": lambda: TRAINERS.make(
            "mlp", four_samples().split(SHARE, SEED)[0], SEED
        ).to_bytes(),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in makers.items():
        path = FOLDER / f"{name}.npz"
        if not path.exists():
            write_atomic(path, make())
            print(path, path.stat().st_size, "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
