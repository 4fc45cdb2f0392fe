"""Time and memory of loading graphs of very many nodes, beside ONNX Runtime's session.

``python -m bench size [--case chain20000 ...] [--repeats N]``; each load is in a process of its own
with an empty cache, ONNX Runtime and we in turns. Memory is that of a process with its children at
once, at its peak until the call returns. It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import re
import select
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.process_tree import tree_bytes
from bench.infrastructure.resumable import Table, fill
from bench.models.large_models import SHAPES, write_large_model
from bench.models.size_load import LOADS

CASES = ("chain20000", "chain100000", "wide50000", "blocks20000")
REPEATS = 3
_SAMPLED_S = 0.05
_CASE = re.compile(f"({'|'.join(SHAPES)})([1-9][0-9]*)")


def size_row(case: str, repeats: int) -> dict[str, Any]:
    """Medians of a case."""
    shape, tasks = _parsed(case)
    path = write_large_model(shape, tasks, FOLDER)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in LOADS}
    for _ in range(repeats):
        for name in LOADS:
            found[name].append(_apart(name, path))
    row: dict[str, Any] = {"case": case}
    plain = {unit: _median(found["ONNX Runtime"], unit) for unit in ("s", "MiB")}
    for name, measured in found.items():
        for unit, least in plain.items():
            row[f"{name} {unit}"] = _median(measured, unit)
            if name != "ONNX Runtime":
                row[f"{name} {unit} ratio"] = _median(measured, unit) / least
    return row


def _median(measured: Sequence[dict[str, float]], unit: str) -> float:
    return statistics.median(one[unit] for one in measured)


def _parsed(case: str) -> tuple[str, int]:
    match = _CASE.fullmatch(case)
    if match is None:
        raise ValueError(f"a case is one of {', '.join(SHAPES)} and a number, got {case!r}")
    return match[1], int(match[2])


def _apart(name: str, path: Path) -> dict[str, float]:
    """Seconds of a load in a process of its own, and MiB of that and its children at their peak."""
    peak = 0
    command = [sys.executable, "-m", "bench.models.size_load", name, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin, "it is a pipe"
        assert child.stdout, "it is a pipe"
        while not select.select([child.stdout], [], [], _SAMPLED_S)[0]:
            peak = max(peak, tree_bytes(child.pid))
        seconds = float(child.stdout.readline())
        peak = max(peak, tree_bytes(child.pid))
        child.stdin.close()
    return {"s": seconds, "MiB": peak / 2**20}


def main() -> None:
    """Measure and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="+", default=CASES, metavar="SHAPE+NODES")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    table = Table("size", {"repeats": arguments.repeats}, ["case"])
    fill(
        table, [(case,) for case in arguments.case], lambda key: size_row(key[0], arguments.repeats)
    )


if __name__ == "__main__":
    main()
