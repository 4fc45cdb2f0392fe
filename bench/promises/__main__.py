"""Queries that are due, up to 20 times what the cores hold: who answers them in time, at what cost.

Contenders are processes of their own and take turns of seconds. ``python -m bench promises --loads
1.5,3 --rounds 1`` shows; without words all is stored.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.contender_process import ContenderProcess
from bench.promises.contender import CORES, HOW

LOADS = (0.8, 1.5, 3.0, 20.0)
"""Queries that come, of what all cores can answer with a query each."""

ROUNDS, TURN_S, DUE = 3, 6.0, 10
"""A query is due after so many times what one takes."""

FLOODED = ("surplus",)
"""Of the others, a query beside a flood waits for all of it."""


def measured(
    loads: Sequence[float], rounds: int, turn_s: float, cache: Path | None
) -> list[dict[str, Any]]:
    """A row for each contender and load.

    The machine's speed changes within seconds, so each turn stands between two measurements of what
    the contender answers at most, one caller a core, which is the peak that it is compared with.
    """
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        at = str(cache or folder)
        there = {how: ContenderProcess("bench.promises.contender", how, at) for how in HOW}
        try:
            turns: dict[tuple[str, float], list[dict[str, Any]]] = {}
            order = list(there)
            for seed, load in itertools.product(range(rounds), loads):
                alone_ns = there["onnxruntime x1"].ask(do="alone")["ns"]
                due_ms, rate = DUE * alone_ns / 1e6, load * CORES / (alone_ns / 1e9)
                asked = {"rate": rate, "s": turn_s, "seed": seed, "due_ms": due_ms}
                for place in range(len(order)):
                    how = order[(place + seed) % len(order)]
                    before_ns = there[how].ask(do="alone")["ns"]
                    found = there[how].ask(do="turn", **asked)
                    own_ns = (before_ns + there[how].ask(do="alone")["ns"]) / 2
                    also = {"alone_ns": own_ns, "due_ns": due_ms * 1e6, "turn_s": turn_s}
                    turns.setdefault((how, load), []).append(found | also)
            for how in FLOODED:
                own_ns = there[how].ask(do="alone")["ns"]
                ns = there[how].ask(do="flood")["ns"]
                segments = float(np.percentile(ns, 99)) / own_ns
                print(f"{how}: beside a flood, p99 of a light model in its queries: {segments:.2f}")
            return _rows(turns)
        finally:
            for process in there.values():
                process.end()


def _rows(turns: Mapping[tuple[str, float], Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    rows = []
    for (how, load), found in turns.items():
        of_due = np.array([ns / one["due_ns"] for one in found for ns in one["answered_ns"]] or [0])
        refused = [ns for one in found for ns in one["refused_ns"]]
        vain = sum(one["dropped"] + one["unanswered"] for one in found)
        late_s = sum(
            one["alone_ns"] / 1e9 * sum(ns > one["due_ns"] for ns in one["answered_ns"])
            for one in found
        )
        rows.append(
            {
                "contender": how,
                "load": load,
                "in time, of its peak": _good(found),
                "admitted in time": int((of_due <= 1).sum()) / max(1, len(of_due) + vain),
                "p99 of answers / due": float(np.percentile(of_due, 99)),
                "refused p99 ms": float(np.percentile(refused, 99)) / 1e6 if refused else 0.0,
                "CPU on late": late_s / sum(one["cpu s"] for one in found),
            }
        )
    return rows


def _good(found: Sequence[Mapping[str, Any]]) -> float:
    """Answers in time that came while others were asked, of as many as it can give."""
    shares = [
        sum(
            ns <= one["due_ns"] and ended_ns <= one["turn_s"] * 1e9
            for ns, ended_ns in zip(one["answered_ns"], one["ended_ns"], strict=True)
        )
        * (one["alone_ns"] / 1e9 / CORES / one["turn_s"])
        for one in found
    ]
    return sum(shares) / len(shares)


def main() -> None:
    """Measure what the command line names, or all, which is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", default=None)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turn-s", type=float, default=TURN_S)
    parser.add_argument("--cache", type=Path, help="plans of an earlier run")
    args = parser.parse_args()
    loads = LOADS if args.loads is None else [float(text) for text in args.loads.split(",")]
    rows = measured(loads, args.rounds, args.turn_s, args.cache)
    result_file.show("promises", rows)
    if args.loads is None:
        config = {"loads": loads, "rounds": args.rounds, "turn s": args.turn_s}
        result_file.write("promises", config, rows, result_file.machine())


if __name__ == "__main__":
    main()
