"""``engine colocate train``: latency models of operators that run side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.output import check_outputs, show_mapping
from surplus.engine.cli.parser import add_verb
from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.colocation.overlap.training.samples import Samples

_SUMMARY = "fit a latency model to measured groups of operators"
_EXAMPLE = """
engine colocate train --data abacus_a100_pairs -o mlp.npz
engine colocate train --data abacus_a100_pairs --models resnet50,bert --kind svm -o svm.npz
engine colocate train --data abacus_a100_pairs --kind truth -o truth.npz
"""
_TRUTH = "truth"


def add_parser(verbs: Any) -> None:
    """Register the action."""
    parser = add_verb(verbs, "train", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="CSV files, a group a row: model,start,end,bs,seq_len of each of its models, then "
        "median,mean,var of its time in microseconds",
    )
    add(
        "--kind",
        default="mlp",
        choices=("mlp", "linear", "svm", _TRUTH),
        help="technique of a policy's model, or the ground truth of a simulator (%(default)s)",
    )
    add("-o", "--output", type=Path, required=True, metavar="F.npz", help="what to write")
    add("--models", metavar="A,B,...", help="only groups sampled for exactly these models")
    add("--seed", type=int, default=1, metavar="N", help="of split and weights (%(default)d)")
    add("--held-out", type=float, default=0.2, metavar="X", help="share to test on (%(default)g)")


def run(args: argparse.Namespace) -> int:
    """Fit, write the file, and say how well it predicts samples that it has not seen."""
    from surplus.colocation.overlap.training.samples import read_samples
    from surplus.engine.atomic_file import write_atomic

    check_outputs(args.output)
    if args.seed < 0 or not 0 < args.held_out < 1:
        text = f"got {args.seed} and {args.held_out:g}"
        raise ConfigError(f"--seed must be >= 0, --held-out above 0 and below 1, {text}")
    only = None if args.models is None else args.models.split(",")
    samples = read_samples(args.data, only=only)
    content, error = _truth(samples) if args.kind == _TRUTH else _model(samples, args)
    write_atomic(args.output, content)
    rows = {
        "samples": str(len(samples)),
        "models": ", ".join(samples.layout.models),
        "error on unseen samples": f"{error:.1%}",
        "bytes": str(len(content)),
    }
    show_mapping(str(args.output), rows)
    return 0


def _model(samples: Samples, args: argparse.Namespace) -> tuple[bytes, float]:
    from surplus.colocation.overlap.training.trainer import TRAINERS, mean_error

    seen, unseen = samples.split(1 - args.held_out, args.seed)
    model = TRAINERS.make(args.kind, seen, args.seed)
    return model.to_bytes(), mean_error(model, unseen)


def _truth(samples: Samples) -> tuple[bytes, float]:
    from surplus.colocation.overlap.training.fit_times import fit_times, held_out_error

    times = fit_times(samples)
    return times.to_bytes(), held_out_error(times)
