"""Throughput with eight queries in flight against the best of N concurrent sessions of others.

Both serve a closed loop: as soon as a query is answered, the next one is sent; latency counts
from there, so waiting for a session counts. Contenders take turns, a slice of time each a round.
The engine is loaded with ``relaxed_numerics=True`` and asked in two manners, of which the better
counts, as it does for the others, OpenVINO with its hint THROUGHPUT among them: one thread that
submits and collects, and a caller a lane.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import surplus
from bench.infrastructure import peer
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.timing import SETTLE_S
from bench.models.model_table import add_options, run_table

IN_FLIGHT = 8
NAMES = ("bert_base", "deepfm", "dlrm", "lenet", "mobilenet_v2", "random_wide", "resnet50", "ssd")
"""Of each kind one; ``--models all`` takes about an hour."""

BUDGET_S = 40.0
ROUNDS = 3
QUERIES_PER_SLICE = 24
SHORTEST_SLICE_S = 0.6


SUBMITTED = "one thread submits"
CALLED = "a caller a lane"


@dataclass(frozen=True)
class Slice:
    """One contender's turn: queries a second, and the latencies."""

    per_second: float
    latency_ns: list[int]


def engine_slice(
    submit: Callable[[Mapping[str, Any]], surplus.Future],
    inputs: Mapping[str, Any],
    seconds: float,
    in_flight: int = IN_FLIGHT,
) -> Slice:
    """Keep so many submitted queries; one thread submits and collects."""
    flying: deque[tuple[int, Any]] = deque()
    latency_ns: list[int] = []
    began = time.perf_counter_ns()
    until = began + round(seconds * 1e9)
    for _ in range(in_flight):
        flying.append((time.perf_counter_ns(), submit(inputs)))
    while flying:
        sent, future = flying.popleft()
        future.result()
        now = time.perf_counter_ns()
        latency_ns.append(now - sent)
        if now < until:
            flying.append((now, submit(inputs)))
    return Slice(len(latency_ns) / ((time.perf_counter_ns() - began) / 1e9), latency_ns)


def sessions_slice(
    runners: Sequence[Callable[[], object]], seconds: float, in_flight: int = IN_FLIGHT
) -> Slice:
    """A thread a session; so many queries wait for one or are in one."""
    waiting: SimpleQueue[int] = SimpleQueue()
    latency_ns: list[int] = []
    began = time.perf_counter_ns()
    until = began + round(seconds * 1e9)

    def work(run: Callable[[], object]) -> None:
        while (sent := waiting.get()) >= 0:
            run()
            now = time.perf_counter_ns()
            latency_ns.append(now - sent)
            waiting.put(now if now < until else -1)
        waiting.put(-1)

    for _ in range(in_flight):
        waiting.put(time.perf_counter_ns())
    threads = [threading.Thread(target=work, args=(run,)) for run in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Slice(len(latency_ns) / ((time.perf_counter_ns() - began) / 1e9), latency_ns)


def contenders(
    path: Path, inputs: Mapping[str, Any], model: surplus.Model, cores: int
) -> dict[str, Callable[[float], Slice]]:
    """The engine and the ways to run sessions side by side."""
    one = peer.runners(path, inputs, (peer.Setting(1),))[peer.Setting(1).name]
    full = peer.runners(path, inputs, (peer.Setting(cores),))[peer.Setting(cores).name]
    request = peer.openvino_requests(path, inputs, "THROUGHPUT")
    return {
        SUBMITTED: lambda seconds: engine_slice(model.submit, inputs, seconds),
        CALLED: lambda s: sessions_slice([lambda: model.run(inputs)] * cores, s),
        f"{cores} callers of a session x1": lambda s: sessions_slice([one] * cores, s),
        f"one caller of a session x{cores}": lambda s: sessions_slice([full], s),
        f"{cores} callers of a session x{cores}": lambda s: sessions_slice([full] * cores, s),
        f"{cores} callers of openvino": lambda s: sessions_slice(
            [request() for _ in range(cores)], s
        ),
    }


def row(name: str, budget_s: float = BUDGET_S) -> dict[str, object]:
    """Measure one model for about ``budget_s`` seconds."""
    cores = len(os.sched_getaffinity(0))
    path, inputs = built(name)
    asked = {"cache": FOLDER / "cache", "kernels": "auto", "tune": "now", "inputs": inputs}
    model = surplus.load(path, f"cpu:{cores}", relaxed_numerics=True, **asked)
    start = time.perf_counter()
    for _ in range(2):
        model.run(inputs)
    seconds = (time.perf_counter() - start) / 2 * QUERIES_PER_SLICE
    # The second plan is prepared when queries first overlap.
    engine_slice(model.submit, inputs, 2.0)
    runs = contenders(path, inputs, model, cores)
    seconds = slice_s(seconds, budget_s, len(runs))
    slices: dict[str, list[Slice]] = {key: [] for key in runs}
    names = list(runs)
    for turn in range(ROUNDS):
        for place in range(len(names)):
            key = names[(place + turn) % len(names)]
            time.sleep(SETTLE_S)
            slices[key].append(runs[key](seconds))
    return _row(name, slices, model.facts["kernels"])


def slice_s(wanted_s: float, budget_s: float, contenders: int) -> float:
    """A turn's length: what its queries need, as far as all turns fit the budget."""
    return max(SHORTEST_SLICE_S, min(wanted_s, budget_s / (ROUNDS * contenders)))


def _row(name: str, slices: Mapping[str, Sequence[Slice]], kernels: str) -> dict[str, object]:
    def per_second(key: str) -> float:
        return statistics.median(piece.per_second for piece in slices[key])

    def ratio(key: str) -> float:
        pairs = zip(slices[ours], slices[key], strict=True)
        return statistics.median(a.per_second / b.per_second for a, b in pairs)

    ours = max((SUBMITTED, CALLED), key=per_second)
    best = min((key for key in slices if key not in (SUBMITTED, CALLED)), key=ratio)
    return {
        "model": name,
        "engine /s": per_second(ours),
        "asked": ours,
        "kernels": kernels,
        "best peer /s": per_second(best),
        "setting": best,
        "throughput ratio": ratio(best),
        "engine p99 ms": _p99(slices[ours]) / 1e6,
        "p99 ratio": _p99(slices[ours]) / _p99(slices[best]),
    }


def _p99(slices: Sequence[Slice]) -> float:
    ordered = sorted(ns for piece in slices for ns in piece.latency_ns)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))])


def main() -> None:
    """Run and store the table, a process a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, ",".join(NAMES), BUDGET_S)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(row(args.one, args.budget)))
        return
    run_table("throughput", args, {"in flight": IN_FLIGHT, "rounds": ROUNDS})


if __name__ == "__main__":
    main()
