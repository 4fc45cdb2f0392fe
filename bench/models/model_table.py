"""Tables of models: which ones, each measured in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus import models

ALL = "all"


def add_options(parser: argparse.ArgumentParser, some: str, budget_s: float) -> None:
    """Options of every table of models.

    Parameters
    ----------
    some : str
        What is measured where nothing is said: ``all``, or names with commas between them.
    budget_s : float
        Default of the time for one model.
    """
    add = parser.add_argument
    add("names", nargs="*", help="models to show only; nothing is stored")
    add("--models", default=some, metavar="all|NAME,...", help="models to store (%(default)s)")
    add("--budget", type=float, default=budget_s, metavar="S", help="seconds a model (%(default)g)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    add("--one", help=argparse.SUPPRESS)


def chosen(text: str) -> list[str]:
    """Models by their names; ``all`` is every one of the registry.

    Raises
    ------
    SystemExit
        Naming the model that there is none of.
    """
    known = models.model_names()
    names = known if text == ALL else text.split(",")
    for name in names:
        if name not in known:
            raise SystemExit(f"no model {name!r}; there are: {', '.join(known)}")
    return names


def run_table(
    name: str, args: argparse.Namespace, config: Mapping[str, Any], options: Sequence[str] = ()
) -> None:
    """Measure the command line's models by ``python -m bench.models.NAME --one MODEL OPTIONS``."""

    def measure(key: Key) -> Row:
        command = [sys.executable, "-m", f"bench.models.{name}", "--one", *key]
        command += ["--budget", str(args.budget), *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row: Row = json.loads(done.stdout.splitlines()[-1])
        return row

    if args.names:
        for model in chosen(",".join(args.names)):
            result_file.show(model, [measure((model,))])
        return
    keys = [(model,) for model in chosen(args.models)]
    config = {**config, "models": args.models, "budget s": args.budget}
    rows = fill(Table(name, config, ("model",), anew=args.anew), keys, measure)
    result_file.show(name, rows)
