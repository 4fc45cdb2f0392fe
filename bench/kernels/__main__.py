"""Whose kernels: the engine's choice beside ONNX Runtime and OpenVINO, each at its best.

Each contender is in a process of its own; they answer in turns, in another order each round, and
ratios are medians of those within a round. Two callers are measured apart. What ONNX Runtime's
plugin provider for OpenVINO takes is not shown: it finds no device on processors that are not
Intel's.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.kernels.contender import CORES
from bench.kernels.models import model_of, names
from bench.kernels.process import Process

ROUNDS, TURN_S, CALLERS_S = 9, 0.3, 1.0
_OURS = "surplus"
_PEERS = ("onnxruntime x1", f"onnxruntime x{CORES}", "openvino")
_MANY = ("onnxruntime x1", f"onnxruntime x{CORES}", "openvino", "openvino throughput")


def row(name: str, rounds: int) -> dict[str, Any]:
    """Measure one model."""
    path, inputs = model_of(name)
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        file = Path(folder) / "inputs.npz"
        np.savez(file, **inputs)  # type: ignore[arg-type]
        where = ([(path, file)], Path(folder) / "cache")
        there = {how: Process(how, *where) for how in (_OURS, *_MANY)}
        try:
            return _measured(name, {h: p for h, p in there.items() if p.is_there}, rounds)
        finally:
            for process in there.values():
                process.end()


def _measured(name: str, there: Mapping[str, Process], rounds: int) -> dict[str, Any]:
    alone = [how for how in (_OURS, *_PEERS) if how in there]
    medians: dict[str, list[float]] = {how: [] for how in alone}
    all_ns: dict[str, list[int]] = {how: [] for how in alone}
    for how in alone:
        there[how].ask(do="alone", s=TURN_S)
    for turn in range(rounds):
        for place in range(len(alone)):
            how = alone[(place + turn) % len(alone)]
            ns = there[how].ask(do="alone", s=TURN_S)["ns"]
            medians[how].append(statistics.median(ns))
            all_ns[how] += ns
    rss = {how: there[how].ask(do="rss")["rss"] for how in alone}
    many = [how for how in (_OURS, *_MANY) if how in there]
    rates: dict[str, list[float]] = {how: [] for how in many}
    for how in many:
        there[how].ask(do="callers", count=2, s=2 * CALLERS_S)  # a second plan opens meanwhile
    for turn in range(3):
        for place in range(len(many)):
            how = many[(place + turn) % len(many)]
            rates[how].append(there[how].ask(do="callers", count=2, s=CALLERS_S)["a_second"])

    def to(how: str) -> float:
        return statistics.median(a / b for a, b in zip(medians[_OURS], medians[how], strict=True))

    peers = [how for how in alone if how != _OURS]
    best = max(peers, key=to)
    plain = max((how for how in peers if how.startswith("onnxruntime")), key=to)
    facts = there[_OURS].facts
    of_library = "OpenVINO" in facts["kernels"]
    stands = "openvino" if of_library and "openvino" in rss else plain
    fastest = max((how for how in many if how != _OURS), key=lambda h: statistics.median(rates[h]))
    return {
        "model": name,
        "plan": facts["plan"],
        "kernels": facts["kernels"],
        "ms": statistics.median(all_ns[_OURS]) / 1e6,
        "best peer": best,
        "to the best": to(best),
        "p99": _percentile(all_ns[_OURS]) / _percentile(all_ns[best]),
        "to ONNX Runtime": to(plain),
        "two callers": statistics.median(
            a / b for a, b in zip(rates[_OURS], rates[fastest], strict=True)
        ),
        "memory": rss[_OURS] / rss[stands],
        "difference": facts.get("largest_difference", "").partition(" ")[0],
    }


def _percentile(ns: Sequence[int]) -> float:
    return float(np.percentile(ns, 99))


def main() -> None:
    """Measure the models of the command line, or all, which are stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models to show only; nothing is stored")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    where = {**result_file.machine(), "openvino": version("openvino")}
    rows = []
    for name in args.names or names():
        rows.append(row(name, args.rounds))
        print(json.dumps(rows[-1]), flush=True)
    mean = math.exp(statistics.fmean(math.log(r["to ONNX Runtime"]) for r in rows))
    print(f"geometric mean to ONNX Runtime: {mean:.3f}")
    if not args.names:
        result_file.write("kernels", {"rounds": args.rounds, "turn s": TURN_S}, rows, where)


if __name__ == "__main__":
    main()
