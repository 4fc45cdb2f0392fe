"""Two models at once, a heavy and a tiny one, each at a Poisson rate of 40 % of its capacity alone.

Against two ONNX Runtime sessions at the setting that is best for the tiny one. Latency counts
from the intended send time. Contenders take turns, a slice of time each a round.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import surplus
from bench.infrastructure import peer, result_file
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.timing import SETTLE_S
from surplus.loadgen.arrivals import poisson
from surplus.loadgen.client import Client
from surplus.loadgen.clients.in_process import InProcessClient
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import summarise

PAIRS = (("resnet50", "squeezenet"), ("ssd", "dlrm"))
SHARE = 0.4
ROUNDS = 3
SLICE_S = 6.0
SLICE_MS = 2.0
"""Longest segment of the engine's plans; the tiny model has the higher priority."""


@dataclass(frozen=True)
class EngineClient:
    """Queries of one model on the engine, all of them on the event loop."""

    model: surplus.Model
    inputs: Mapping[str, Any]
    priority: int

    async def send(self, query: int) -> None:
        """Answer one query."""
        await self.model.infer(self.inputs, priority=self.priority)


@dataclass(frozen=True)
class Latencies:
    """p50 and p99 of one model in one slice, in nanoseconds."""

    p50_ns: int
    p99_ns: int


async def load_both(clients: Sequence[Client], rates: Sequence[float], seed: int) -> list[Any]:
    """An open loop for each client, side by side; their records."""
    params = OpenLoopParams(LoadgenParams(min_duration_ns=round(SLICE_S * 1e9)))
    recorders = [Recorder() for _ in clients]
    loops = [
        run_open_loop(
            client,
            poisson(rate, np.random.default_rng([seed, index])),
            params,
            recorder,
            MonotonicClock(),
        )
        for index, (client, rate, recorder) in enumerate(
            zip(clients, rates, recorders, strict=True)
        )
    ]
    await asyncio.gather(*loops)
    return [recorder.records() for recorder in recorders]


def one_slice(clients: Sequence[Client], rates: Sequence[float], seed: int) -> list[Latencies]:
    """Latencies of the heavy and of the tiny model."""
    time.sleep(SETTLE_S)
    found = []
    for records in asyncio.run(load_both(clients, rates, seed)):
        latency = summarise(records, open_loop=True).latency
        assert latency is not None, "every slice answers queries"
        found.append(Latencies(latency.p50_ns, latency.p99_ns))
    return found


def capacity_per_s(model: surplus.Model, inputs: Mapping[str, Any]) -> float:
    """Queries a second of one model alone, one after another."""
    model.run(inputs)
    times = []
    for _ in range(15):
        start = time.perf_counter_ns()
        model.run(inputs)
        times.append(time.perf_counter_ns() - start)
    return 1e9 / statistics.median(times)


def row(heavy: str, tiny: str) -> dict[str, object]:
    """Measure one pair."""
    cores = len(os.sched_getaffinity(0))
    built_ones = [built(name) for name in (heavy, tiny)]
    loaded = [
        surplus.load(path, cache=FOLDER / "cache", slice_s=SLICE_MS / 1e3) for path, _ in built_ones
    ]
    feeds = [inputs for _, inputs in built_ones]
    rates = [SHARE * capacity_per_s(m, f) for m, f in zip(loaded, feeds, strict=True)]
    clients: dict[str, list[Client]] = {
        "engine": [
            EngineClient(m, f, i) for i, (m, f) in enumerate(zip(loaded, feeds, strict=True))
        ]
    }
    for threads in ((1, 1), (cores, cores), (1, cores), (cores, 1)):
        pair: list[Client] = []
        for (path, inputs), count in zip(built_ones, threads, strict=True):
            (run,) = peer.runners(path, inputs, (peer.Setting(count),)).values()
            pair.append(InProcessClient(lambda _, run=run: run(), 1))  # type: ignore[misc]
        clients[f"sessions x{threads[0]} and x{threads[1]}"] = pair
    one_slice(clients["engine"], rates, ROUNDS)  # second plans are prepared at the first overlap
    slices: dict[str, list[list[Latencies]]] = {name: [] for name in clients}
    for seed in range(ROUNDS):
        for name in clients:
            slices[name].append(one_slice(clients[name], rates, seed))
    return _row(heavy, tiny, rates, slices)


def _row(
    heavy: str, tiny: str, rates: Sequence[float], slices: Mapping[str, list[list[Latencies]]]
) -> dict[str, object]:
    def p99(name: str, which: int) -> float:
        return statistics.median(piece[which].p99_ns for piece in slices[name])

    best = min((name for name in slices if name != "engine"), key=lambda name: p99(name, 1))
    return {
        "heavy": heavy,
        "tiny": tiny,
        "heavy /s": rates[0],
        "tiny /s": rates[1],
        "engine p99 of tiny ms": p99("engine", 1) / 1e6,
        "best ONNX Runtime p99 of tiny ms": p99(best, 1) / 1e6,
        "setting": best,
        "ratio": p99("engine", 1) / p99(best, 1),
        "ratio of heavy": p99("engine", 0) / p99(best, 0),
    }


def main() -> None:
    """Run and store the table, a process a pair."""
    if len(sys.argv) == 3:
        print(json.dumps(row(*sys.argv[1:])))
        return
    rows = []
    for pair in PAIRS:
        command = [sys.executable, "-m", "bench.models.co_run", *pair]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    result_file.show("A heavy and a tiny model at once", rows)
    result_file.write(
        "co_run", {"share": SHARE, "rounds": ROUNDS, "slice s": SLICE_S, "slice ms": SLICE_MS}, rows
    )


if __name__ == "__main__":
    main()
