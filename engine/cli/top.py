"""``engine top``: what a server's models do, who waits for whom, and why queries are late."""

from __future__ import annotations

import argparse
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
engine top --cluster http://127.0.0.1:8080
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "top", _SUMMARY, _EXAMPLE, run)
    options.add_url(parser)
    add = parser.add_argument
    add("--cluster", metavar="URL", help="of a deployment's resolver: all its nodes' servers")
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
    from surplus.engine.cli.asked_cluster import AskedCluster
    from surplus.engine.cli.asked_server import AskedServer
    from surplus.engine.cli.top_tables import show_late
    from surplus.engine.cli.top_watch import watch

    _check(args)
    looks = {"once": args.once, "as_json": args.json}
    if args.cluster:
        watch(AskedCluster(args.cluster), args.window, args.every, **looks)
        return 0
    with AskedServer(args.url) as server:
        if args.trace is not None or args.late is not None:
            model = "" if args.late in (None, "all") else args.late
            if args.trace is not None:
                _write(args.trace, server.late(model, args.window, perfetto=True))
            if args.late is not None:
                (show_json if args.json else show_late)(server.late(model, args.window))
        else:
            watch(server, args.window, args.every, **looks)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_outputs(args.trace)
    if not args.every > 0:
        raise ValueError(f"--every must be above 0, got {args.every}")
    if args.cluster and (args.late or args.trace):
        raise ValueError("--late and --trace are of one server, not of a --cluster")
    if args.window is not None and not args.window > 0:
        raise ValueError(f"--window must be above 0, got {args.window}")


def _write(path: Path, trace: dict[str, Any]) -> None:
    import json

    from surplus.engine.atomic_file import write_atomic

    write_atomic(path, json.dumps(trace, separators=(",", ":")).encode())
