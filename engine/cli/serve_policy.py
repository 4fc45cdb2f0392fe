"""The part of ``engine serve`` that serves several models under a policy."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.cli import options
from surplus.placement import policy_names as placement_policy_names

if TYPE_CHECKING:
    from surplus.engine.scheduling.policy_params import PolicyParams

_POLICY_OPTIONS = (
    *("slo", "rate", "max_batch", "groups", "shares", "profile", "compiled"),
    "model_control",
)
"""What ``add_options`` adds: of no use to a policy that places one model."""


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
        metavar="N",
        help="largest batch, in rows of the inputs (default 8)",
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


@dataclass(frozen=True)
class ServedPolicy:
    """A policy for several models, and whether clients may take them out of service."""

    policy: PolicyParams
    clients_control: bool


def asked(args: argparse.Namespace) -> ServedPolicy | None:
    """What is asked of a policy for several models; None where the policy is for one.

    Raises
    ------
    ValueError
        If it is of neither kind, or there are options of the other one.
    """
    if args.policy in placement_policy_names():
        given = _given(args, *_POLICY_OPTIONS)
        if given:
            raise ValueError(f"{given}: need a policy for several models, not {args.policy!r}")
        return None
    from surplus.colocation import policy_names

    if args.policy not in policy_names():
        known = ", ".join((*placement_policy_names(), *policy_names()))
        raise ValueError(f"unknown policy {args.policy!r}; there are: {known}")
    _refuse(args)
    return ServedPolicy(_params(args), args.model_control)


def _given(args: argparse.Namespace, *names: str) -> str:
    """Those of these options that were given, as they are written."""
    values = {name: getattr(args, name) for name in names}
    given = (name for name, value in values.items() if value or type(value) is int)  # 0 is given
    return ", ".join(f"--{name.replace('_', '-')}" for name in given)


def _refuse(args: argparse.Namespace) -> None:
    """Refuse what contradicts such a policy.

    Raises
    ------
    ValueError
        Saying why.
    """
    from surplus.colocation.policies.names import policy_spec

    name = args.policy
    if args.lazy and args.profile is None:
        text = f"--lazy: policy {name!r} decides by times that are measured at the start"
        raise ValueError(f"{text}, which loads the models; give them by --profile")
    if args.slice_ms and not policy_spec(name).runs_parts:
        raise ValueError(f"--slice-ms: policy {name!r} runs models whole")
    if args.slice_ms and args.groups is not None:
        raise ValueError("--slice-ms and --groups both say how models are cut: give one")
    if args.on_device_loss in ("recreate", "cpu"):
        text = f"--on-device-loss {args.on_device_loss}: policy {name!r} has divided the devices"
        raise ValueError(f"{text} that it was given; it goes on with those that are left")


def _params(args: argparse.Namespace) -> PolicyParams:
    from surplus.engine.scheduling.policy_params import PolicyParams

    return PolicyParams(
        policy=args.policy,
        slos_ns={name: duration_ns(text) for name, text in options.texts(args.slo).items()},
        options=options.pairs(args.option),
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
