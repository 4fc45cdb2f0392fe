"""``engine colocate profile``: what a scenario's models take on its devices, measured."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.output import check_outputs, show_rows
from surplus.engine.cli.parser import add_verb

_SUMMARY = "measure L(batch, share) of a scenario's models on its devices, alone and side by side"
_EXAMPLE = "engine colocate profile bench/configs/colocation/live/two_cpu.toml"


def add_parser(actions: Any) -> None:
    """Register the action."""
    parser = add_verb(actions, "profile", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("scenario", type=Path, metavar="SCENARIO.toml", help="with a table [live]")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="P.json",
        help="where to write it (default: the file that the scenario's profiles name)",
    )
    add(
        "--rounds",
        type=int,
        default=30,
        metavar="N",
        help="samples of each batch (default %(default)s)",
    )
    options.add_cache(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, write the file, print the times."""
    from surplus.colocation.scenarios.live_file import read_to_measure
    from surplus.engine.atomic_file import write_atomic
    from surplus.engine.scheduling.measure import GroupMeasureParams
    from surplus.engine.scheduling.replay import measure_scenario

    asked = read_to_measure(args.scenario)
    path = args.output or asked.path
    if path is None:
        raise ValueError(f"{args.scenario}: no service reads a measured profile; say --output")
    check_outputs(path)
    found = measure_scenario(asked, GroupMeasureParams(args.rounds), args.cache, _say)
    write_atomic(path, found.to_json().encode())
    rows = [
        {"service": name, "share": f"{share} %"}
        | {f"{n} items": f"{ms:.3g} ms" for n, ms in zip(model.items, times, strict=True)}
        for name, model in found.models.items()
        for share, times in model.ms.items()
    ]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    show_rows(str(path), [{key: row.get(key, "-") for key in keys} for row in rows])
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
