"""Servers of the Open Inference Protocol, asked by the same native client in turns.

Client and servers share the machine's cores. ``--servers`` and ``--loads`` choose by parts of
names, ``--idle`` asks only what idle connections cost; without words all is stored.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from bench.serving.contenders import CONTENDERS, Started, left_out
from bench.serving.idle_connections import idle_rows
from bench.serving.loads import LOADS, Asking, Turn
from bench.serving.payloads import all_payloads
from surplus.loadgen.generator import BUSY_SHARE

ROUNDS, TURN_S = 5, 3.0
_SETTLE_S = 0.2
"""Threads of whoever had the last turn go to sleep."""


def started(
    names: Sequence[str], folder: Path, stack: ExitStack, missing: dict[str, str]
) -> dict[str, Started]:
    """Those that start; the others join those that are missing, with what they said."""
    payloads, there = all_payloads(), {}
    for place, name in enumerate(names):
        own = folder / str(place)
        own.mkdir()
        try:
            there[name] = CONTENDERS[name].start(own, payloads)
        except RuntimeError as error:
            missing[name] = str(error)
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        stack.callback(there[name].end)
    return there


def measured(
    there: Mapping[str, Started], loads: Sequence[Asking], rounds: int, turn_s: float
) -> list[dict[str, Any]]:
    """A row for each load and contender that takes it."""
    rows = []
    for load in loads:
        names = [name for name in there if there[name].takes(load)]
        turns: dict[str, list[Turn]] = {name: [] for name in names}
        for number in range(rounds):
            for place in range(len(names)):
                name = names[(place + number) % len(names)]
                time.sleep(_SETTLE_S)
                turns[name].append(there[name].turn(load, turn_s))
        own = [row(load, name, there[name].at_rest_bytes, turns[name]) for name in names]
        result_file.show(f"{load.payload}, {load.path}, {load.clients}", own)
        rows += own
    return rows


def row(load: Asking, name: str, at_rest_bytes: int, turns: Sequence[Turn]) -> dict[str, Any]:
    """Medians of the turns; errors of all of them."""
    errors = sum((Counter(turn.errors) for turn in turns), Counter[str]())
    for text in dict.fromkeys(text for turn in turns for text in turn.said):
        print(f"{name}, {load.payload}: {text}", file=sys.stderr)
    busy = statistics.median(turn.client_busy for turn in turns)
    return {
        "model": load.payload,
        "protocol": load.path,
        "clients": load.clients,
        "server": name,
        "queries/s": statistics.median(turn.per_s for turn in turns),
        "p50 ms": statistics.median(turn.p50_ns for turn in turns) / 1e6,
        "p99 ms": statistics.median(turn.p99_ns for turn in turns) / 1e6,
        "server CPU ms a query": statistics.median(turn.cpu_ns for turn in turns) / 1e6,
        "memory at rest MB": at_rest_bytes / 1e6,
        "client busy": f"{busy:.2f}" + " (a limit)" * (busy > BUSY_SHARE),
        "errors": ", ".join(f"{kind} {count}" for kind, count in errors.items()) or "0",
    }


def main() -> None:
    """Measure what the command line names, or all, which is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default="", help="parts of names, between commas")
    parser.add_argument("--loads", default="", help="as floats_16/grpc/16, parts between commas")
    parser.add_argument("--idle", action="store_true", help="idle connections alone, stored")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turn-s", type=float, default=TURN_S, help="seconds of one turn")
    args = parser.parse_args()
    missing = left_out()
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    names = [name for name in _chosen(CONTENDERS, args.servers) if name not in missing]
    texts = {f"{load.payload}/{load.path}/{load.clients}": load for load in LOADS}
    loads = [texts[text] for text in _chosen(texts, args.loads)]
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder, ExitStack() as stack:
        there = started(names, Path(folder), stack, missing)
        idle = idle_rows(there)
        result_file.show("Idle connections", idle)
        rows = [] if args.idle else measured(there, loads, args.rounds, args.turn_s)
    if args.servers or args.loads:
        return
    result_file.write("serving_idle", {"left out": missing}, idle)
    if rows:
        config = {"rounds": args.rounds, "turn s": args.turn_s, "left out": missing}
        result_file.write("serving", config, rows)


def _chosen(known: Mapping[str, Any], parts: str) -> list[str]:
    """Names that hold one of the parts; all of them if there are none."""
    words = [word for word in parts.split(",") if word]
    found = [name for name in known if not words or any(word in name for word in words)]
    if not found:
        sys.exit(f"none of {', '.join(known)} is like {parts!r}")
    return found


if __name__ == "__main__":
    main()
