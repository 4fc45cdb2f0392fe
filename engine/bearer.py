"""The token by which who asks a server says who that is: verbs, and agents of a deployment."""

from __future__ import annotations

import os

_VARIABLE = "SURPLUS_TOKEN"
"""Of the environment: what is said on a command line all users of a machine may read."""


def bearer() -> tuple[tuple[str, str], ...]:
    """Headers, or metadata of gRPC, that say it; none where the variable is not set."""
    return (("authorization", f"Bearer {token()}"),) if token() else ()


def token() -> str:
    """The token alone; empty where the variable is not set."""
    return os.environ.get(_VARIABLE, "")
