"""Which models share a worker, as somebody asked."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.errors import ConfigError


def groups_of(texts: Sequence[str], models: Sequence[str]) -> dict[str, list[str]]:
    """Which models share a process, of ``NAME=MODEL,MODEL``; an empty text names none.

    Raises
    ------
    ConfigError
        If a text is none, or names a model that is not served, or one twice.
    """
    groups: dict[str, list[str]] = {}
    seen: set[str] = set()
    for text in filter(None, texts):
        name, separator, listed = text.partition("=")
        members = [member for member in listed.split(",") if member]
        if not (name and separator and members):
            raise ConfigError(f"--isolate {text}: expected GROUP=MODEL,MODEL")
        for member in members:
            if member not in models:
                known = ", ".join(models)
                raise ConfigError(f"--isolate {text}: there is no model {member!r}, only {known}")
            if member in seen:
                raise ConfigError(f"--isolate {text}: {member!r} is in a group already")
            seen.add(member)
        groups.setdefault(name, []).extend(members)
    return groups
