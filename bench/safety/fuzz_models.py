"""Random valid models against ONNX Runtime alone: wrong answers, refusals, crashes, all named.

``python -m bench fuzz_models --count 10000`` stores results/fuzz_models.json; ``--seed N --count 1
--save FILE`` writes the model of a seed and says what became of it. Exits with 1 where an answer is
wrong, a process ended, or more than 0.1 % of the models were refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx

from bench.fuzzing.crew import outcomes
from bench.fuzzing.generator import grow
from bench.fuzzing.trial import DEVICES, LOADED_EVERY, Outcome
from bench.infrastructure import result_file

_MOST_REFUSED = 0.001
_BAD = ("wrong", "crashed")


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    if args.save is not None:
        onnx.save(grow(args.seed).model, args.save)
    found = _run(args)
    rows = _rows(found)
    counts = Counter(outcome.kind for outcome in found)
    usable = len(found) - counts["unusable"]
    result_file.show("fuzz_models", rows)
    print(f"\n{len(found)} models, {usable} usable: {dict(counts)}")
    if args.store:
        _store(args, rows, found)
    if any(counts[kind] for kind in _BAD):
        return 1
    return int(counts["refused"] > _MOST_REFUSED * max(1, usable))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench fuzz_models")
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--count", type=int, default=10_000, help="of models")
    parser.add_argument("--seconds", type=float, default=0, help="after which no model is begun")
    parser.add_argument("--workers", type=int, default=1, help="processes side by side")
    parser.add_argument("--save", type=Path, help="write the first model here")
    parser.add_argument("--store", action="store_true", help="keep the table in bench/results")
    return parser


def _run(args: argparse.Namespace) -> list[Outcome]:
    found: list[Outcome] = []
    for outcome in outcomes(args.seed, args.count, args.workers, _over(args.seconds)):
        found.append(outcome)
        if outcome.kind not in ("right", "unusable"):
            print(
                f"seed {outcome.seed}: {outcome.kind}, {outcome.how}: {outcome.detail[:300]}",
                flush=True,
            )
    return found


def _over(seconds: float) -> Callable[[], bool]:
    end_s = time.monotonic() + seconds
    return lambda: bool(seconds) and time.monotonic() > end_s


def _rows(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Outcomes but the right ones, counted by what they have in common."""
    alike: dict[tuple[str, str, str], list[int]] = {}
    for outcome in found:
        if outcome.kind != "right":
            alike.setdefault((outcome.kind, outcome.how, outcome.reason), []).append(outcome.seed)
    return [
        {"kind": kind, "how": how, "reason": reason, "count": len(seeds), "seed": min(seeds)}
        for (kind, how, reason), seeds in sorted(alike.items())
    ]


def _store(args: argparse.Namespace, rows: list[dict[str, Any]], found: list[Outcome]) -> None:
    counts = Counter(outcome.kind for outcome in found)
    config = {
        "first_seed": args.seed,
        "models": len(found),
        "counts": dict(sorted(counts.items())),
        "devices": DEVICES,
        "loaded_every": LOADED_EVERY,
    }
    result_file.write("fuzz_models", config, rows)


if __name__ == "__main__":
    sys.exit(main())
