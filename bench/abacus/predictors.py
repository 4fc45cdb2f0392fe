"""``python -m bench abacus_predictors --data DIR``: how well Abacus predicts groups.

Errors of each technique on a fifth of the published measurements that it has not seen: for each
pair by itself, for all pairs in one model, and for groups of up to four models as the ground truth
times them (nobody published any). Rows are kept as they come; the same command goes on where it
was stopped.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.abacus.models import MODELS, SEED, SHARE, four_samples
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation.overlap.training.samples import Samples, read_samples
from surplus.colocation.overlap.training.trainer import TRAINERS, mean_error

KINDS = ("linear", "svm", "mlp")
MEAN, MEDIAN, ALL, FOUR = "mean of the pairs", "median of the pairs", "all pairs", "up to four"
PAPER = {MEAN: (0.235, 0.215, 0.055), ALL: (0.301, 0.292, 0.057), FOUR: (None, None, 0.064)}
"""Abacus (SC'21), section 5.5; it gives no medians."""


def row_of(key: Key, earlier: list[Row], data: Path) -> Row:
    """One row: a pair by itself, a summary of those, or all."""
    of = key[0]
    row: Row = {"of": of}
    if of in (MEAN, MEDIAN):
        reduce = statistics.mean if of == MEAN else statistics.median
        pairs = [found for found in earlier if " + " in found["of"]]
        row |= {name: reduce(pair[name] for pair in pairs) for name in ("samples", *KINDS)}
        row["spread_ms"] = reduce(pair["spread_ms"] for pair in pairs)
    else:
        row |= _errors(_samples(of, data))
    paper = PAPER.get(of, (None,) * len(KINDS))
    return row | {f"paper_{kind}": value for kind, value in zip(KINDS, paper, strict=True)}


def _samples(of: str, data: Path) -> Samples:
    if of == FOUR:
        return four_samples()
    return read_samples(data, MODELS, only=None if of == ALL else of.split(" + "))


def _errors(samples: Samples) -> Row:
    seen, unseen = samples.split(SHARE, SEED)
    row: Row = {"samples": len(samples)}
    for kind in KINDS:
        row[kind] = round(mean_error(TRAINERS.make(kind, seen, SEED), unseen), 4)
    row["spread_ms"] = round(float(np.mean(samples.spread * samples.median_ms)), 3)
    return row


def main() -> int:
    """Fill the table, print it beside the paper's."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_predictors", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    add_budget(parser)
    args = parser.parse_args()
    keys = [(f"{a} + {b}",) for a, b in combinations(MODELS, 2)]
    keys += [(MEAN,), (MEDIAN,), (ALL,), (FOUR,)]
    table = Table("abacus_predictors", {"share": SHARE, "seed": SEED}, ("of",))
    if not fill_within(table, keys, lambda key: row_of(key, table.rows, args.data), args.seconds):
        return 3
    result_file.show("Mean absolute percentage error on unseen groups", table.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
