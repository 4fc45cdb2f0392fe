"""``engine colocate sample``: groups of operators of a scenario's models, measured side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.parser import add_verb

_SUMMARY = "measure groups of operators of a scenario's models side by side, for train"
_EXAMPLE = """
engine colocate sample two_cpu.toml -o samples --groups 500
engine colocate train --data samples -o mlp.npz
"""


def add_parser(actions: Any) -> None:
    """Register the action."""
    parser = add_verb(actions, "sample", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("scenario", type=Path, metavar="SCENARIO.toml", help="with a table [live]")
    text = "where to write a file for each set of models; those that are there are not measured"
    add("-o", "--output", type=Path, required=True, metavar="DIR", help=text)
    add("--together", type=int, default=2, metavar="K", help="models a set (%(default)d)")
    add("--groups", type=int, default=500, metavar="N", help="of each set (%(default)d)")
    add("--repeats", type=int, default=10, metavar="N", help="of each group (%(default)d)")
    add("--seed", type=int, default=1, metavar="N", help="of the groups (%(default)d)")
    options.add_cache(parser)


def run(args: argparse.Namespace) -> int:
    """Measure the sets that are missing."""
    from surplus.colocation.overlap.training.samples import to_csv
    from surplus.colocation.scenarios.live_file import read_to_measure
    from surplus.engine.atomic_file import write_atomic
    from surplus.engine.scheduling.sample import SampleParams, group_bench, sets_of

    asked = read_to_measure(args.scenario)
    params = SampleParams(args.together, args.groups, args.repeats, args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    sets = sets_of(asked.names, params.together)
    files = {names: args.output / f"{'_'.join(names)}.csv" for names in sets}
    missing = {names: path for names, path in files.items() if not path.exists()}
    if not missing:
        print(f"{args.output}: all {len(sets)} sets are there")
        return 0
    bench = group_bench(asked, args.cache)
    limits = zip(asked.batches, asked.most_items, strict=True)
    services = dict(zip(asked.names, limits, strict=True))
    for names, path in missing.items():
        print(f"measuring {', '.join(names)}", file=sys.stderr, flush=True)
        own, most = zip(*(services[name] for name in names), strict=True)
        items = sorted({n for batches in own for n in batches if n <= min(most)})
        samples = bench.samples(names, items, params)
        write_atomic(path, to_csv(samples, names).encode())
        print(path)
    return 0
