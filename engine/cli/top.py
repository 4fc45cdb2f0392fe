"""``engine top``: what a server's models do, who waits for whom, and why queries are late."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.output import check_outputs, show_json
from surplus.engine.cli.parser import add_verb

_SUMMARY = "show live what a server's models do, who waits for whom, and why queries are late"
_EXAMPLE = """
engine top
engine top http://127.0.0.1:8000 --once --json
engine top 127.0.0.1:8001 --late detector --trace late.json
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "top", _SUMMARY, _EXAMPLE, run)
    options.add_url(parser)
    add = parser.add_argument
    add("--once", action="store_true", help="print one look, and end")
    add(
        "--every",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds between looks (default %(default)s)",
    )
    add("--window", type=float, metavar="S", help="seconds that are looked at (10; late: 60)")
    add("--late", metavar="MODEL", help="why the model's queries were late, and end; all: 'all'")
    add(
        "--trace",
        type=Path,
        metavar="FILE",
        help="the late queries as a trace for ui.perfetto.dev, and end; all models without --late",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask the server and print."""
    from surplus.engine.cli.asked_server import AskedServer
    from surplus.engine.cli.top_tables import clear, show_late, show_top

    _check(args)
    with AskedServer(args.url) as server:
        if args.trace is not None or args.late is not None:
            model = "" if args.late in (None, "all") else args.late
            if args.trace is not None:
                _write(args.trace, server.late(model, args.window, perfetto=True))
            if args.late is not None:
                (show_json if args.json else show_late)(server.late(model, args.window))
            return 0
        if args.once:
            server.await_recording(args.window)
        while True:
            found = server.top(args.window)
            clear(not args.once and not args.json)
            (show_json if args.json else show_top)(found)
            if args.once:
                return 0
            time.sleep(args.every)


def _check(args: argparse.Namespace) -> None:
    check_outputs(args.trace)
    if not args.every > 0:
        raise ValueError(f"--every must be above 0, got {args.every}")
    if args.window is not None and not args.window > 0:
        raise ValueError(f"--window must be above 0, got {args.window}")


def _write(path: Path, trace: dict[str, Any]) -> None:
    import json

    from surplus.engine.atomic_file import write_atomic

    write_atomic(path, json.dumps(trace, separators=(",", ":")).encode())
