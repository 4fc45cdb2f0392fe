"""``engine trace``: one query of a server, drawn for Perfetto."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.output import check_outputs, duration, show_json, show_text
from surplus.engine.cli.parser import add_verb

_SUMMARY = "draw one query of a server for Perfetto: one of the last, or the next"
_EXAMPLE = """
engine trace --model vad -o vad.json
engine trace http://127.0.0.1:8000 --id order-17
engine trace --model vad --next 30
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "trace", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add(
        "url",
        nargs="?",
        default="http://127.0.0.1:8002",
        metavar="URL",
        help="http://HOST:PORT of HTTP or of metrics (default %(default)s)",
    )
    add("--model", metavar="NAME", help="the last query of this model")
    add("--id", metavar="ID", help="the last query that its client calls so")
    add("--trace-id", metavar="HEX", help="the last query of this trace of W3C")
    add("--next", type=float, metavar="S", help="wait so long for the next one instead, 60 at most")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("query.perfetto.json"),
        metavar="FILE",
        help="where to (default %(default)s); open it in ui.perfetto.dev",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask the server, write the trace and say what the query's time went to."""
    import json

    from surplus.engine.atomic_file import write_atomic
    from surplus.engine.cli.asked_server import AskedServer

    check_outputs(args.output)
    given = {"model": args.model, "id": args.id, "trace_id": args.trace_id, "next_s": args.next}
    with AskedServer(args.url) as server:
        found = server.trace({name: value for name, value in given.items() if value is not None})
    write_atomic(args.output, json.dumps(found, separators=(",", ":")).encode())
    if args.json:
        show_json(found["otherData"])
    else:
        show_text(_said(found["otherData"]) + f"\n{args.output}: open it in ui.perfetto.dev")
    return 0


def _said(query: dict[str, Any]) -> str:
    """In two lines."""
    moments = [query[f"{name}_ns"] for name in ("received", "started", "ended", "answered")]
    names = ("decoding", "execution", "encoding")
    parts = [
        f"{name} {duration(later - before)}"
        for name, before, later in zip(names, moments, moments[1:], strict=False)
    ]
    name = f" {query['id']!r}" if query["id"] else ""
    trouble = f", {query['trouble']}" if query["trouble"] else ""
    whole = duration(moments[-1] - moments[0])
    waited = f"; it waited {duration(query['waited_ns'])}" if query["waited_ns"] >= 0 else ""
    run = "" if query["run"] == "recorded" else f"\nwhat ran is {query['run']}"
    return f"{query['model']}'s query{name} took {whole}{trouble}: {', '.join(parts)}{waited}{run}"
