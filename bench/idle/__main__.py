"""Idle means idle: wake-ups of a thousand models without queries, and what a rare query costs.

A query every 100 ms, contenders in processes of their own that take turns.
``--models a,b`` shows some; without words all is stored, ``queries`` or ``silent`` only that part.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.idle import many
from bench.idle.contender import ALONE, GAP_S, HOW
from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER

MODELS = ("lenet", "mobilenet_v2", "resnet18")
ROUNDS, QUERIES = 4, 8
_CACHE = FOLDER / "cache"


class Contender:
    """A process that answers (contender.py)."""

    def __init__(self, how: str, model: str, cache: Path = _CACHE) -> None:
        words = [sys.executable, "-m", "bench.idle.contender", how, model, str(cache)]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        self._answer()

    def cost(self, queries: int) -> dict[str, float]:
        """What so many queries cost, each."""
        assert self._child.stdin, "it is a pipe"
        self._child.stdin.write(f"{queries}\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._child.stdout, "it is a pipe"
        found: dict[str, float] = json.loads(self._child.stdout.readline())
        return found

    def end(self) -> None:
        """It ends when nobody asks any more."""
        self._child.communicate()


def rows(model: str, rounds: int) -> list[dict[str, Any]]:
    """A row for each contender."""
    there = {how: Contender(how, model) for how in HOW}
    turns: dict[str, list[dict[str, float]]] = {how: [] for how in HOW}
    try:
        for number in range(rounds):
            order = list(there)
            for how in order[number % len(order) :] + order[: number % len(order)]:
                turns[how].append(there[how].cost(QUERIES))
    finally:
        for contender in there.values():
            contender.end()
    return [_row(model, how, turns[how], turns[ALONE]) for how in HOW]


def _row(
    model: str, how: str, turns: Sequence[dict[str, float]], alone: Sequence[dict[str, float]]
) -> dict[str, Any]:
    ratios = [turn["cpu ms"] / one["cpu ms"] for turn, one in zip(turns, alone, strict=True)]
    return {
        "model": model,
        "contender": how,
        "CPU ms a query": statistics.median(turn["cpu ms"] for turn in turns),
        "of one thread's": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "wake-ups a query": statistics.median(turn["wake-ups"] for turn in turns),
    }


def measure_queries(rounds: int) -> None:
    """Measure and store what rare queries cost."""
    found = [row for model in MODELS for row in rows(model, rounds)]
    result_file.show("A query every 100 ms", found)
    config = {"rounds": rounds, "queries": QUERIES, "gap s": GAP_S}
    result_file.write("idle", config, found)


def measure_silent() -> None:
    """Measure and store what models cost that nobody asks."""
    found = [many.row()]
    result_file.show("A thousand models without queries", found)
    result_file.write("idle_models", {"settle s": many.SETTLE_S}, found)


def main() -> None:
    """Measure what the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("queries", "silent"))
    parser.add_argument("--models", help="of these, and nothing is stored")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    if args.models:
        found = [row for model in args.models.split(",") for row in rows(model, args.rounds)]
        return result_file.show("A query every 100 ms", found)
    if args.part != "silent":
        measure_queries(args.rounds)
    if args.part != "queries":
        measure_silent()
    return None


if __name__ == "__main__":
    main()
