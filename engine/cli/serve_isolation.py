"""``engine serve --isolate``: which models run in processes of their own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.engine.repository.layout import RepositoryEntry


def add_isolation(parser: argparse.ArgumentParser) -> None:
    """The option."""
    parser.add_argument(
        "--isolate",
        action="append",
        nargs="?",
        const="",
        metavar="GROUP=MODEL,MODEL",
        help="run each model in a process of its own, or those of a group in one: what ends that"
        " process fails the queries that it has, and nothing else; may be repeated",
    )


def isolated_groups(
    args: argparse.Namespace, entries: Sequence[RepositoryEntry], *, under_policy: bool
) -> Mapping[str, Sequence[str]] | None:
    """Which models share a process; None where all run in the server's own.

    Raises
    ------
    ConfigError
        If a group is none, or models are both kept apart and run together.
    """
    if args.isolate is None:
        return None
    if under_policy:
        raise ConfigError("--isolate keeps models apart that --policy runs together: choose one")
    from surplus.engine.isolation.groups import groups_of

    return groups_of(args.isolate, list(dict.fromkeys(entry.name for entry in entries)))
