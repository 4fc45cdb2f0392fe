"""The part of ``engine serve`` that serves several models under a policy."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli import options
from placement import policy_names as placement_policy_names

if TYPE_CHECKING:
    from engine.serving.server import ServerParams


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the policies for several models."""
    group = parser.add_argument_group("several models under latency targets (docs/COLOCATION.md)")
    add = group.add_argument
    add(
        "--slo",
        action="append",
        default=[],
        metavar="MODEL=50ms",
        help="latency target of a model; each needs one; may be repeated",
    )
    add(
        "--rate",
        action="append",
        default=[],
        metavar="MODEL=N",
        help="expected queries a second, for policies that plan by rates (default 1)",
    )
    add(
        "--max-batch",
        type=int,
        default=8,
        metavar="N",
        help="largest batch, in rows of the inputs (default %(default)s)",
    )
    add(
        "--groups",
        type=int,
        default=1,
        metavar="N",
        help="cut models into so many groups, for policies that run parts of them",
    )
    add(
        "--profile",
        type=Path,
        metavar="P.json",
        help="what engine colocate profile wrote for these models; else measured at the start",
    )


def is_meant(args: argparse.Namespace) -> bool:
    """Whether the policy is one for several models.

    Raises
    ------
    ValueError
        If it is of neither kind, or there are targets for one that places operators.
    """
    if args.policy in placement_policy_names():
        if args.slo or args.rate or args.profile:
            text = "--slo, --rate and --profile need a policy for several models"
            raise ValueError(f"{text}, not {args.policy!r}")
        return False
    from colocation import policy_names

    if args.policy not in policy_names():
        known = ", ".join((*placement_policy_names(), *policy_names()))
        raise ValueError(f"unknown policy {args.policy!r}; there are: {known}")
    return True


def run(args: argparse.Namespace, server: ServerParams) -> int:
    """Load, measure, serve until stopped."""
    from engine.cli.server_policy import serve_by_policy
    from engine.live.policy_params import PolicyParams
    from engine.serving.repository import find_models

    if args.lazy or args.slice_ms:
        raise ValueError(f"--lazy and --slice-ms do not go with policy {args.policy!r}")
    params = PolicyParams(
        policy=args.policy,
        slos_ns={name: duration_ns(text) for name, text in options.texts(args.slo).items()},
        options=options.pairs(args.option),
        devices=args.devices,
        rates_per_s={name: float(text) for name, text in options.texts(args.rate).items()},
        most_items=args.max_batch,
        groups=args.groups,
        profile=args.profile,
        cache=args.cache,
    )
    done = asyncio.run(serve_by_policy(server, find_models(args.model), params))
    return 0 if done else 1


def duration_ns(text: str) -> int:
    """Read a duration such as ``50ms``, ``1.5s`` or ``800us``.

    Raises
    ------
    ValueError
        If it is none, or not > 0.
    """
    for unit, unit_ns in (("ms", 1e6), ("us", 1e3), ("s", 1e9)):
        if text.endswith(unit):
            try:
                value_ns = float(text.removesuffix(unit)) * unit_ns
            except ValueError:
                break
            if 1 <= value_ns < 2**62:
                return round(value_ns)
            break
    raise ValueError(f"expected a duration such as 50ms, got {text!r}")
