"""``engine cache``: what is kept of models between starts, and less of it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cache_folder import cache_folder
from surplus.engine.cli.cache_table import megabytes, show_models
from surplus.engine.cli.durations import duration_ns
from surplus.engine.cli.options import add_cache, add_json
from surplus.engine.cli.output import show_json
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    pass

_SUMMARY = "list what is kept of models between starts, or remove what is not used"
_EXAMPLE = """
engine cache list
engine cache prune --unused-for 30d --limit 20GiB
"""
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
        show_models(f"{folder}: {megabytes(found)}", found)
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
        show_models(f"removed from {folder}: {megabytes(removed)}", removed)
    else:
        print(f"nothing is removed from {folder}: what is loaded or was used just now stays")
    return 0


def _span_ns(text: str) -> int:
    for unit, unit_ns in (("d", _DAY_NS), ("h", _DAY_NS // 24)):
        number = text.removesuffix(unit)
        if number != text and number.isascii() and number.isdigit():
            return int(number) * unit_ns
    return duration_ns(text)
