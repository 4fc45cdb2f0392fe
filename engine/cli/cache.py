"""``engine cache``: what is kept of models between starts, and less of it."""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cache_folder import cache_folder
from surplus.engine.cli.options import add_cache, add_json
from surplus.engine.cli.output import show_json, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.serve_policy import duration_ns

if TYPE_CHECKING:
    from surplus.engine.store.model_folders import ModelFolder

_SUMMARY = "list what is kept of models between starts, or remove what is not used"
_EXAMPLE = """
engine cache list
engine cache prune --unused-for 30d --limit 20GiB
"""
_MB = 1e6
_DAY_NS = 86_400 * 10**9


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "cache", _SUMMARY, _EXAMPLE, run_list)
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|prune")
    listing = add_verb(actions, "list", "show each model", "engine cache list", run_list)
    pruning = add_verb(
        actions,
        "prune",
        "remove models that are not loaded; the next load makes them again",
        "engine cache prune --unused-for 30d",
        run_prune,
    )
    pruning.add_argument(
        "--unused-for",
        metavar="30d",
        help="those that nobody has loaded for so long (d, h, or as other durations)",
    )
    pruning.add_argument(
        "--limit",
        metavar="20GiB",
        help="those loaded longest ago, until all take no more than this (SURPLUS_CACHE_LIMIT"
        " does so by itself)",
    )
    for action in (listing, pruning):
        add_cache(action)
        add_json(action)


def run_list(args: argparse.Namespace) -> int:
    """Print every model."""
    from surplus.engine.store.model_folders import model_folders

    folder = args.cache or cache_folder()
    found = model_folders(folder)
    if args.json:
        show_json([one.to_dict() for one in found])
    else:
        _show(f"{folder}: {_megabytes(found)}", found)
    return 0


def run_prune(args: argparse.Namespace) -> int:
    """Remove some, and print them."""
    from surplus.engine.devices.memory_size import parse_bytes
    from surplus.engine.store.model_folders import prune

    if args.unused_for is None and args.limit is None:
        raise ValueError("--unused-for or --limit say what is to go")
    since_ns = None if args.unused_for is None else time.time_ns() - _span_ns(args.unused_for)
    limit_bytes = None if args.limit is None else parse_bytes(args.limit)
    folder: Path = args.cache or cache_folder()
    removed = prune(folder, limit_bytes=limit_bytes, unused_since_ns=since_ns)
    if args.json:
        show_json([one.to_dict() for one in removed])
    elif removed:
        _show(f"removed from {folder}: {_megabytes(removed)}", removed)
    else:
        print(f"nothing is removed from {folder}: what is loaded or was used just now stays")
    return 0


def _span_ns(text: str) -> int:
    for unit, unit_ns in (("d", _DAY_NS), ("h", _DAY_NS // 24)):
        number = text.removesuffix(unit)
        if number != text and number.isascii() and number.isdigit():
            return int(number) * unit_ns
    return duration_ns(text)


def _show(title: str, found: Sequence[ModelFolder]) -> None:
    if not found:
        print(f"{title}, no model")
        return
    show_rows(title, [_row(one) for one in found])


def _row(one: ModelFolder) -> dict[str, str]:
    used = datetime.datetime.fromtimestamp(one.used_ns / 1e9).strftime("%Y-%m-%d %H:%M")
    share = f"{one.size_bytes / one.source_bytes:.1f}x" if one.source_bytes else "gone"
    return {
        "model": Path(one.source).name or one.path.name[:16],
        "MB": f"{one.size_bytes / _MB:.1f}",
        "of its file": share,
        "plans": str(one.plans),
        "last used": "now" if one.in_use else used,
    }


def _megabytes(found: Sequence[ModelFolder]) -> str:
    return f"{sum(one.size_bytes for one in found) / _MB:.1f} MB of {len(found)} models"
