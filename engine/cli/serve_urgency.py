"""What ``engine serve`` is told, without a policy, of whose queries go first and are refused."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from surplus.engine.cli import options
from surplus.engine.cli.durations import duration_ns
from surplus.engine.serving.server_params import MAX_WAIT_MS

if TYPE_CHECKING:
    from surplus.engine.planning.load_params import LoadParams


_ON_LATE = {"refuse": "reject", "serve": "serve"}


def add_urgency(parser: argparse.ArgumentParser) -> None:
    """--best-effort, --weight, --late and --max-wait-ms; --slo is the policies', too."""
    parser.add_argument(
        "--best-effort",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model whose queries go behind those of all others; may be repeated",
    )
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="MODEL=W",
        help="its share of the lanes, 0.01 to 100, while queries without deadlines wait, or what"
        " its queries are worth under a policy for several models (default 1); may be repeated",
    )
    parser.add_argument(
        "--late",
        choices=tuple(_ON_LATE),
        default="refuse",
        help="queries that cannot be in time, by --slo or their own timeout, as predicted: refuse"
        " them at once, or serve them behind the others (default %(default)s)",
    )
    parser.add_argument(
        "--max-wait-ms",
        type=float,
        default=MAX_WAIT_MS,
        metavar="MS",
        help="refuse queries without a deadline that would wait for longer, as predicted (default"
        " %(default)g; 0: never)",
    )


def by_model(
    args: argparse.Namespace, loading: LoadParams, names: Iterable[str]
) -> Mapping[str, LoadParams]:
    """How to load each model: when its queries are due, its share, and what is refused.

    Raises
    ------
    ValueError
        Naming a model that is not served.
    ConfigError
        If one is both.
    """
    known = list(dict.fromkeys(names))
    due_ns = {name: duration_ns(text) for name, text in options.texts(args.slo).items()}
    weights = weights_of(args)
    asked = (("--slo", due_ns), ("--best-effort", args.best_effort), ("--weight", weights))
    for option, named in asked:
        for name in named:
            if name not in known:
                raise ValueError(
                    f"{option} {name}: there is no such model, only {', '.join(known)}"
                )
    return {
        name: replace(
            usual(args, loading),
            deadline_s=due_ns[name] / 1e9 if name in due_ns else None,
            best_effort=name in args.best_effort,
            weight=weights.get(name, 1.0),
        )
        for name in known
    }


def usual(args: argparse.Namespace, loading: LoadParams) -> LoadParams:
    """How to load a model that no option names."""
    return replace(loading, on_late=_ON_LATE[args.late], max_wait_s=args.max_wait_ms / 1e3)


def weights_of(args: argparse.Namespace) -> dict[str, float]:
    """By model; raises ValueError, naming the one whose weight is no number."""
    return {name: _weight(name, text) for name, text in options.texts(args.weight).items()}


def _weight(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--weight {name}: expected a number, got {text!r}") from None
