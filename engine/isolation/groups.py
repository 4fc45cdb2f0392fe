"""Which models share a worker, as somebody asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.errors import ConfigError


def groups_of(texts: Sequence[str], models: Sequence[str]) -> dict[str, list[str]]:
    """Which models share a process, of ``NAME=MODEL,MODEL``; an empty text names none.

    Raises
    ------
    ConfigError
        If a text is none, or names a model that is not served, or one twice.
    """
    groups: dict[str, list[str]] = {}
    for text in filter(None, texts):
        name, separator, listed = text.partition("=")
        members = [member for member in listed.split(",") if member]
        if not (name and separator and members):
            raise ConfigError(f"--isolate {text}: expected GROUP=MODEL,MODEL")
        groups.setdefault(name, []).extend(members)
    check_groups(groups, models)
    return groups


def check_groups(groups: Mapping[str, Sequence[str]], models: Sequence[str]) -> None:
    """Whether each model of a group is served, and in no other.

    Raises
    ------
    ConfigError
        If not so; the message names the group and the model.
    """
    seen: set[str] = set()
    for name, members in groups.items():
        for member in members:
            if member not in models:
                known = ", ".join(models)
                raise ConfigError(f"group {name!r}: there is no model {member!r}, only {known}")
            if member in seen:
                raise ConfigError(f"group {name!r}: {member!r} is in a group already")
            seen.add(member)
