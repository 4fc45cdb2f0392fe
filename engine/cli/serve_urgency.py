"""What ``engine serve`` is told of when its models' queries are due, where no policy arbitrates."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from surplus.engine.cli import options
from surplus.engine.cli.durations import duration_ns

if TYPE_CHECKING:
    from surplus.engine.planning.load_params import LoadParams


def add_best_effort(parser: argparse.ArgumentParser) -> None:
    """--best-effort; --slo is the policies', too."""
    parser.add_argument(
        "--best-effort",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model whose queries go behind those of all others; may be repeated",
    )


def by_model(
    args: argparse.Namespace, loading: LoadParams, names: Iterable[str]
) -> Mapping[str, LoadParams]:
    """How to load each model: its queries are due by --slo, or best effort.

    Raises
    ------
    ValueError
        Naming a model that is not served.
    ConfigError
        If one is both.
    """
    known = list(dict.fromkeys(names))
    due_ns = {name: duration_ns(text) for name, text in options.texts(args.slo).items()}
    for option, named in (("--slo", due_ns), ("--best-effort", args.best_effort)):
        for name in named:
            if name not in known:
                raise ValueError(
                    f"{option} {name}: there is no such model, only {', '.join(known)}"
                )
    return {
        name: replace(
            loading,
            deadline_ms=due_ns[name] / 1e6 if name in due_ns else None,
            best_effort=name in args.best_effort,
        )
        for name in known
    }
