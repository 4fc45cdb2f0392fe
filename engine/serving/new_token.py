"""A new token: its secret for who asks, its hash for the file of a server."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from surplus.engine.atomic_file import write_atomic
from surplus.engine.errors import ConfigError
from surplus.engine.serving.tokens_file import tokens_in

_SECRET_BYTES = 32
_OWNERS_ALONE = 0o600


def add_token(
    path: Path, name: str, rights: tuple[str, ...], models: tuple[str, ...], days: float | None
) -> str:
    """Enter one in a file, which is made where it is not there.

    Parameters
    ----------
    days : float or None
        How long it counts; None: for ever.

    Returns
    -------
    str
        The secret, 256 random bits: it is nowhere else, the file has its SHA-256.

    Raises
    ------
    ConfigError
        If the file does not do, has a token of that name, or one of the arguments is wrong.
    """
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    before, mode = "", _OWNERS_ALONE
    if path.exists():
        before, mode = path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777
    lines = [
        "[[token]]",
        f"name = {_toml(name)}",
        f"sha256 = {_toml(hashlib.sha256(secret.encode()).hexdigest())}",
        f"rights = {_toml(rights)}",
    ]
    if models:
        lines.append(f"models = {_toml(models)}")
    if days is not None:
        lines.append(f"expires = {_end(days)}")
    between = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    text = before + between + "\n".join(lines) + "\n"
    tokens_in(text, str(path))
    write_atomic(path, text.encode(), mode)
    return secret


def _end(days: float) -> str:
    if not 0 < days < 366_000:
        raise ConfigError(f"--days must be above 0 and below 366000, got {days:g}")
    end = datetime.now(UTC) + timedelta(days=days)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def _toml(value: str | tuple[str, ...]) -> str:
    """As JSON writes it, which is TOML too for texts and lists of them."""
    return json.dumps(value, ensure_ascii=False)
