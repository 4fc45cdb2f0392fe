"""Eight small models at once, a caller each, with the engine's kernels and with others'.

Each contender has all models in one process of its own; they take turns. A model's throughput is
divided by what it is with ONNX Runtime at one thread a session; a contender's score is the mean.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.kernels.models import model_of
from bench.kernels.process import Process

MODELS = (
    "squeezenet",
    "shufflenet",
    "lenet",
    "lstm",
    "deepfm",
    "two_tower",
    "multi_task",
    "resnet18_qdq",
)
ONE = "onnxruntime x1"
CONTENDERS = ("surplus", ONE, "openvino", "openvino throughput")
ROUNDS, TURN_S = 5, 2.0


def rows(rounds: int) -> list[dict[str, Any]]:
    """A row for each contender."""
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        files = [_files(name, Path(folder)) for name in MODELS]
        there = {how: Process(how, files, Path(folder) / "cache") for how in CONTENDERS}
        try:
            return _measured(there, rounds)
        finally:
            for process in there.values():
                process.end()


def _files(name: str, folder: Path) -> tuple[Path, Path]:
    path, inputs = model_of(name)
    given = folder / f"{name}.npz"
    np.savez(given, **inputs)  # type: ignore[arg-type]
    return path, given


def _measured(there: Mapping[str, Process], rounds: int) -> list[dict[str, Any]]:
    for process in there.values():
        process.ask(do="each", s=TURN_S)
    found: dict[str, list[Sequence[float]]] = {how: [] for how in there}
    for turn in range(rounds):
        order = list(there)
        for place in range(len(order)):
            how = order[(place + turn) % len(order)]
            found[how].append(there[how].ask(do="each", s=TURN_S)["a_second"])
    scores = {
        how: [
            statistics.fmean(a / b for a, b in zip(row, one, strict=True))
            for row, one in zip(taken, found[ONE], strict=True)
        ]
        for how, taken in found.items()
    }
    return [
        {
            "contender": how,
            "throughput to ONNX Runtime x1": statistics.median(scores[how]),
            "lowest": min(scores[how]),
            "highest": max(scores[how]),
            "MiB": there[how].ask(do="rss")["rss"] / 2**20,
        }
        for how in there
    ]


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    where = {**result_file.machine(), "openvino": version("openvino")}
    found = rows(args.rounds)
    result_file.show("kernels_many", found)
    config = {"models": list(MODELS), "rounds": args.rounds, "turn s": TURN_S}
    result_file.write("kernels_many", config, found, where)


if __name__ == "__main__":
    main()
