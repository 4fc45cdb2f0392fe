"""Whether a placement policy and its options are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.placement.policy import make_policy, policy_options


def check_policy(policy: str, options: Mapping[str, Any]) -> None:
    """Refuse an unknown policy or option before anything is measured for it.

    Raises
    ------
    ConfigError
        Naming what is wrong, and what there is.
    """
    try:
        known = policy_options(policy)
        for name in options:
            if name not in known:
                there = ", ".join(known) or "none"
                raise ValueError(f"policy {policy!r} has no option {name!r}; it has: {there}")
        make_policy(policy, **options)
    except ValueError as error:
        if isinstance(error.__cause__, TypeError):
            given = ", ".join(f"{name}={value!r}" for name, value in options.items())
            raise ConfigError(f"policy {policy!r}: an option of a wrong type: {given}") from error
        raise ConfigError(str(error)) from error
