"""Options of ``engine serve`` for several models under a policy, and what follows from them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.durations import duration_ns
from surplus.engine.cli.serve_urgency import weights_of

if TYPE_CHECKING:
    from surplus.engine.scheduling.policy_params import PolicyParams


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the policies for several models."""
    group = parser.add_argument_group("several models under latency targets (docs/COLOCATION.md)")
    add = group.add_argument
    add(
        "--slo",
        action="append",
        default=[],
        metavar="MODEL=50ms",
        help="latency target of a model; under a policy for several each needs one, else queries of"
        " models that have one go first, the earliest due first; may be repeated",
    )
    add(
        "--rate",
        action="append",
        default=[],
        metavar="MODEL=N",
        help="expected queries a second, for policies that plan by rates (default 1)",
    )
    add(
        "--groups",
        type=int,
        metavar="N",
        help="cut models into so many groups, for policies that run parts of them (default 1)",
    )
    add(
        "--shares",
        default="",
        metavar="P,...,100",
        help="partitions are shares of an emulated GPU's processors, measured at these percents",
    )
    add(
        "--profile",
        type=Path,
        metavar="P.json",
        help="what engine colocate profile wrote for these models; else measured at the start",
    )
    add(
        "--compiled",
        action="append",
        default=[],
        metavar="MODEL=FILE.toml",
        help="compiled versions of a model's groups, for policies that choose between versions",
    )
    add(
        "--model-control",
        action="store_true",
        help="let every client take models out of service and put them back",
    )


def policy_params(args: argparse.Namespace) -> PolicyParams:
    """What the options say of a policy for several models."""
    from surplus.engine.scheduling.policy_params import PolicyParams

    return PolicyParams(
        policy=args.policy,
        slos_ns={name: duration_ns(text) for name, text in options.texts(args.slo).items()},
        options=_policy_options(args),
        devices=args.devices,
        rates_per_s={name: _rate(name, text) for name, text in options.texts(args.rate).items()},
        most_items=8 if args.max_batch is None else args.max_batch,
        groups=1 if args.groups is None else args.groups,
        slice_ns=round(args.slice_ms * 1e6),
        profile=args.profile,
        cache=args.cache,
        shares=_shares(args.shares),
        compiled={name: Path(text) for name, text in options.texts(args.compiled).items()},
        max_load_s=args.max_load_s,
        max_query_ms=args.max_query_ms,
        gpu_memory=args.gpu_memory,
        any_bits=args.any_bits,
    )


def _policy_options(args: argparse.Namespace) -> dict[str, Any]:
    """Those that were given by their names, and weights."""
    found = options.pairs(args.option)
    if args.weight:
        found["weights"] = weights_of(args)
    return found


def _rate(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--rate {name}: expected queries a second, got {text!r}") from None


def _shares(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",") if text)
    except ValueError:
        raise ValueError(f"--shares: expected percents such as 20,40,100, got {text!r}") from None
