"""``engine token``: make a token for who may ask a server, and see whose there are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.engine.cli.parser import add_verb

_SUMMARY = "make a token for engine serve --tokens, or list whose there are"
_EXAMPLE = """
engine token tokens.toml shop --rights infer,metadata --models resnet50 --days 90
engine token tokens.toml
engine serve repository/ --tokens tokens.toml
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "token", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("file", type=Path, metavar="FILE.toml", help="where tokens are; made if it is not there")
    add("name", nargs="?", metavar="NAME", help="whose the new token is; else those there are")
    add(
        "--rights",
        metavar="RIGHT,...",
        help="health, infer, metadata, statistics, shared-memory, settings, repository",
    )
    add("--models", default="", metavar="NAME,...", help="to these alone (default: to any)")
    add("--days", type=float, metavar="N", help="how long it counts (default: for ever)")


def run(args: argparse.Namespace) -> int:
    """Write its hash to the file and print the token, or print the file's names."""
    if args.name is None:
        for option in ("rights", "models", "days"):
            if getattr(args, option):
                raise ValueError(f"--{option}: of a new token: give its NAME")
        return _list(args.file)
    if not args.rights:
        raise ValueError("--rights: say what the token is for")
    from surplus.engine.serving.new_token import add_token

    models = tuple(filter(None, args.models.split(",")))
    print(add_token(args.file, args.name, tuple(args.rights.split(",")), models, args.days))
    return 0


def _list(path: Path) -> int:
    from datetime import UTC, datetime

    from rich.table import Table

    from surplus.engine.cli.console import stdout_console
    from surplus.engine.serving.tokens_file import read_tokens

    table = Table("name", "by", "rights", "models", "until")
    for one in read_tokens(path):
        until = datetime.fromtimestamp(one.ends_unix_s, UTC).isoformat() if one.ends_unix_s else ""
        by = "token" if one.digest else "certificate"
        table.add_row(one.name, by, ", ".join(one.rights), ", ".join(one.models) or "any", until)
    stdout_console(120).print(table)
    return 0
