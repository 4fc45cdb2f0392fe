"""The part of ``engine serve`` that serves several models under a policy."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surplus.engine.cli.serve_policy_options import policy_params
from surplus.placement import policy_names as placement_policy_names

if TYPE_CHECKING:
    from surplus.engine.scheduling.policy_params import PolicyParams

_POLICY_OPTIONS = (
    *("rate", "groups", "shares", "profile", "compiled"),
    "model_control",
)
"""What ``add_options`` adds: of no use to a policy that places one model."""


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
    if args.best_effort:
        raise ValueError(f"--best-effort: policy {args.policy!r} decides by targets: give --slo")
    _refuse(args)
    return ServedPolicy(policy_params(args), args.model_control)


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
    if args.weight and not policy_spec(name).weighs:
        text = f"--weight: policy {name!r} decides by targets alone"
        raise ValueError(f"{text}; by weights, too: {', '.join(_weighing())}")
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


def _weighing() -> list[str]:
    """Policies that know what queries are worth."""
    from surplus.colocation import policy_names
    from surplus.colocation.policies.names import policy_spec

    return [name for name in policy_names() if policy_spec(name).weighs]
