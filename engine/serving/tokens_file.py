"""The file of those who may ask a server, and what they may do.

::

    [[token]]
    name = "dashboards"                  # whose it is, for people
    sha256 = "5e88...42d8"               # of the token; or: secret = "the token itself"
    rights = ["statistics", "metadata"]
    expires = 2027-01-01T00:00:00Z       # if it does
    models = ["resnet50"]                # if it is for some only

    [[certificate]]
    name = "spiffe://cluster/ns/shop"    # in a client's certificate (mutual TLS)
    rights = ["infer"]
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.engine.serving.rights import Right

LEAST_SECRET = 16
"""Characters of a secret: shorter ones are guessed."""

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_KEYS = {
    "token": {"name", "sha256", "secret", "rights", "models", "expires"},
    "certificate": {"name", "rights", "models", "expires"},
}


@dataclass(frozen=True)
class Grant:
    """Rights of somebody.

    Parameters
    ----------
    name : str
        Whose they are.
    digest : bytes
        SHA-256 of the token; empty where a certificate's name counts.
    certificate : str
        That name; empty where a token counts.
    rights : tuple of Right
        At least one.
    models : tuple of str
        To these alone; empty: to any.
    ends_unix_s : int
        From then on it counts no more; 0: never.
    """

    name: str
    digest: bytes
    certificate: str
    rights: tuple[Right, ...]
    models: tuple[str, ...]
    ends_unix_s: int


def read_tokens(path: Path | str) -> tuple[Grant, ...]:
    """Everybody in a file; may be nobody.

    Raises
    ------
    ConfigError
        If it cannot be read, or something in it is wrong: the message names file, entry and field.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--tokens {path}: {getattr(error, 'strerror', error)}") from None
    return tokens_in(text, f"--tokens {path}")


def tokens_in(text: str, where: str) -> tuple[Grant, ...]:
    """Everybody in a text; ``where`` it stands begins what is said of it. Raises the same."""
    try:
        document = tomllib.loads(text)
        for key in document:
            if key not in _KEYS:
                raise ConfigError(f"unknown table {key!r}; there are {', '.join(_KEYS)}")
        grants = tuple(_grants(document))
        _check_names(grants)
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise ConfigError(f"{where}: {error}") from None
    return grants


def _grants(document: Mapping[str, Any]) -> Iterator[Grant]:
    for kind, keys in _KEYS.items():
        entries = document.get(kind, [])
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise ConfigError(f"write [[{kind}]] in two pairs of brackets: there may be several")
        for number, entry in enumerate(entries, 1):
            try:
                for key in entry:
                    if key not in keys:
                        known = ", ".join(sorted(keys))
                        raise ConfigError(f"unknown field {key!r}; there are {known}")
                yield _grant(kind, entry)
            except ConfigError as error:
                name = f" ({entry['name']})" if isinstance(entry.get("name"), str) else ""
                raise ConfigError(f"[[{kind}]] {number}{name}: {error}") from None


def _grant(kind: str, entry: Mapping[str, Any]) -> Grant:
    name = _text(entry, "name")
    if not name:
        raise ConfigError("'name' is missing")
    return Grant(
        name=name,
        digest=_digest(entry) if kind == "token" else b"",
        certificate=name if kind == "certificate" else "",
        rights=_rights(entry),
        models=_texts(entry, "models"),
        ends_unix_s=_end(entry),
    )


def _digest(entry: Mapping[str, Any]) -> bytes:
    sha256, secret = _text(entry, "sha256"), _text(entry, "secret")
    if bool(sha256) == bool(secret):
        raise ConfigError("give either 'sha256', of the token, or 'secret', the token itself")
    if secret:
        if len(secret) < LEAST_SECRET or not secret.isascii() or " " in secret:
            raise ConfigError(
                f"'secret' must have at least {LEAST_SECRET} characters, of ASCII, without spaces"
            )
        return hashlib.sha256(secret.encode()).digest()
    if not _DIGEST.fullmatch(sha256):
        raise ConfigError("'sha256' must have 64 hexadecimal digits")
    return bytes.fromhex(sha256)


def _rights(entry: Mapping[str, Any]) -> tuple[Right, ...]:
    names = _texts(entry, "rights")
    if not names:
        raise ConfigError("'rights' is missing, or empty")
    return rights_of(names, "'rights'")


def rights_of(names: tuple[str, ...], where: str) -> tuple[Right, ...]:
    """Rights by their names.

    Raises
    ------
    ConfigError
        If there is none of a name.
    """
    for name in names:
        if name not in list(Right):
            raise ConfigError(f"{where} has {name!r}; there are {', '.join(Right)}")
    return tuple(Right(name) for name in names)


def _end(entry: Mapping[str, Any]) -> int:
    end = entry.get("expires")
    if end is None:
        return 0
    if not isinstance(end, datetime):
        raise ConfigError("'expires' must be a date and time, as 2027-01-01T00:00:00Z")
    return int((end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp())


def _text(entry: Mapping[str, Any], field: str) -> str:
    value = entry.get(field, "")
    if not isinstance(value, str):
        raise ConfigError(f"{field!r} must be a text")
    return value


def _texts(entry: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = entry.get(field, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise ConfigError(f"{field!r} must be a list of texts")
    return tuple(value)


def _check_names(grants: tuple[Grant, ...]) -> None:
    """Who revokes a token by its name must hit all of it."""
    names = [grant.name for grant in grants if grant.digest]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two tokens are called {name!r}")
