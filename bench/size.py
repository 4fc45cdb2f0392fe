"""Time and memory of loading graphs of very many nodes, beside ONNX Runtime's session.

``python -m bench.size [--case chain20000 ...] [--repeats N]``; each load is in a process of its own
with an empty cache, ONNX Runtime and we in turns. It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnxruntime

import engine
from bench.built_models import FOLDER
from bench.large_models import SHAPES, write_large_model
from bench.resumable import Table, fill

CASES = ("chain20000", "chain100000", "wide50000", "blocks20000")
REPEATS = 3
_CHILD = "--load"
_CASE = re.compile(f"({'|'.join(SHAPES)})([1-9][0-9]*)")


def onnxruntime_load(path: Path, cache: Path) -> object:
    """A session of ONNX Runtime's own package with all of its defaults."""
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def default_load(path: Path, cache: Path) -> object:
    """``engine.load`` as a new user has it; bench/__init__.py asks for plans at once."""
    return engine.load(path, cache=cache, tune="background")


def planned_load(path: Path, cache: Path) -> object:
    """The same, until a plan was chosen by measurement."""
    return engine.load(path, cache=cache, tune="now")


LOADS: Mapping[str, Callable[[Path, Path], object]] = MappingProxyType(
    {"ONNX Runtime": onnxruntime_load, "load": default_load, "tune now": planned_load}
)


def measure_load(name: str, path: Path) -> dict[str, float]:
    """Seconds that the call takes, and MiB at the peak of the largest process.

    The child that tries an unseen file comes on top for as long as it runs, with about as much.
    """
    with tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        loaded = LOADS[name](path, Path(cache))
        seconds = time.perf_counter() - began
        del loaded
    own, children = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {"s": seconds, "MiB": max(own, children)}


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
    done = subprocess.run(
        [sys.executable, "-m", "bench.size", _CHILD, name, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    """Measure in sub-processes and store the table."""
    if sys.argv[1:2] == [_CHILD]:
        print(json.dumps(measure_load(sys.argv[2], Path(sys.argv[3]))))
        return
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
