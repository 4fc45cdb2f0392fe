"""Widths of a model as VELTAIR's versions: times beside a busy neighbour, and what a proxy tells.

``python -m bench veltair_widths [--model resnet50] [--lanes 2] [--rounds 40]``, on quiet cores.

A version is an ONNX Runtime session of so many threads. A neighbour keeps the last core busy for a
part of the time; widths take turns beside it. Versions are pruned by what they take under load, and
``VersionChoice`` picks one by the reading of the proxy; it is judged by the 95th percentile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from bench.infrastructure import result_file
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.veltair.versions import VersionChoice, pruned
from surplus.engine.errors import ExecutionError
from surplus.engine.native import load_runtime
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.host_pressure import (
    PressureSource,
    ProxyFit,
    fit_proxy,
    pressure_source,
)
from surplus.engine.scheduling.live_model import load_live_model
from surplus.engine.scheduling.setting_up import model_file, places, replay_backend

LOADS = (0.0, 0.25, 0.5, 1.0)
WARM_UP = 5
PERIOD_S = 0.01
_NEIGHBOUR = """
import os, sys, time
core, busy_s, period_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {core})
while True:
    until = time.monotonic() + busy_s
    while time.monotonic() < until:
        pass
    time.sleep(max(0.0, period_s - busy_s))
"""
Row = dict[str, Any]


class Bench:
    """One model on widths."""

    def __init__(self, model: str, lanes: int, source: PressureSource) -> None:
        load_runtime()
        devices = places(f"cpu:{lanes}", [lanes])
        live = load_live_model(model, model_file(model), devices[0])
        self._backend: EngineBackend = replay_backend([live], devices)
        self._backend.prepare([Partition(0, 100, cores=lanes)])
        self._source = source
        self._ids = count()
        self.reading: tuple[float, ...] = ()

    def took_ms(self, width: int) -> float:
        """Time of one query; leaves the proxy's reading of it."""
        query = Query(next(self._ids), 0, 0, 0, 0, 1)
        self._source.read()
        began_ns = time.monotonic_ns()
        self._backend.start(Group(query.id, 0, (piece_of((query,), 0, 1),), 0, 0, width))
        (ended,) = self._backend.wait(None)
        took_ns = time.monotonic_ns() - began_ns
        self.reading = self._source.read()
        if ended.error:
            raise ExecutionError(ended.error)
        return took_ns / 1e6


@contextmanager
def neighbour(load: float) -> Iterator[None]:
    """Somebody who keeps the last core busy for a part of the time."""
    if not load:
        yield
        return
    core = max(os.sched_getaffinity(0))
    arguments = [str(core), str(load * PERIOD_S), str(PERIOD_S)]
    process = subprocess.Popen([sys.executable, "-c", _NEIGHBOUR, *arguments])
    try:
        time.sleep(0.2)
        yield
    finally:
        process.kill()
        process.wait()


def measure(bench: Bench, widths: Sequence[int], rounds: int) -> tuple[list[Row], ProxyFit]:
    """Every width beside every load, in turns; and the line from readings to slowdowns."""
    rows: list[Row] = []
    readings: list[tuple[float, ...]] = []
    slowdowns: list[float] = []
    alone: dict[int, float] = {}
    for load in LOADS:
        samples: dict[int, list[tuple[float, tuple[float, ...]]]] = {w: [] for w in widths}
        with neighbour(load):
            for turn in range(WARM_UP + rounds):
                for width in widths:
                    took_ms = bench.took_ms(width)
                    if turn >= WARM_UP:
                        samples[width].append((took_ms, bench.reading))
        for width, own in samples.items():
            times = [took_ms for took_ms, _ in own]
            alone.setdefault(width, statistics.median(times))
            readings += [reading for _, reading in own]
            slowdowns += [took_ms / alone[width] for took_ms in times]
            rows.append(_row(str(width), load, times, [reading[0] for _, reading in own]))
    return rows, fit_proxy(readings, slowdowns)


def _row(width: str, load: float, times: list[float], readings: list[float]) -> Row:
    return {
        "neighbour %": 100 * load,
        "width": width,
        "mean ms": statistics.fmean(times),
        "p95 ms": _p95(times),
        "reading": statistics.fmean(readings),
    }


def choose(bench: Bench, rows: Sequence[Row], widths: Sequence[int], rounds: int) -> list[Row]:
    """Serve beside each load by the width that the last reading of the neighbour asks for.

    Pressure is the load; the widest session reads it best, as it has a thread beside the neighbour.
    """
    p95 = {(row["width"], row["neighbour %"]): row["p95 ms"] for row in rows}
    alone = [p95[str(w), 0.0] for w in widths]
    costs = [max(0.0, p95[str(w), 100.0] / p95[str(w), 0.0] - 1.0) for w in widths]
    seen = [(row["reading"],) for row in rows if row["width"] == str(widths[-1])]
    line = fit_proxy(seen, [1.0 + row for row in LOADS])
    found = []
    for load in LOADS:
        choice, now, wide = VersionChoice(alone, costs, 0.05), 0, 0
        times: list[float] = []
        readings: list[float] = []
        with neighbour(load):
            for turn in range(WARM_UP + rounds):
                if turn % 5 == 0:  # Look with the widest session now and then.
                    bench.took_ms(widths[-1])
                    now = choice.at(line.slowdown(bench.reading) - 1.0)
                took_ms = bench.took_ms(widths[now])
                if turn >= WARM_UP:
                    times.append(took_ms)
                    readings.append(bench.reading[0])
                    wide += widths[now] == widths[-1]
        found.append(_row(f"chosen, {wide} of {rounds} wide", load, times, readings))
    return found


def _p95(times: list[float]) -> float:
    return sorted(times)[int(0.95 * (len(times) - 1))]


def main() -> int:
    """Measure and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    source, reason = pressure_source()
    if source is None:
        raise SystemExit(f"the machine tells nothing of pressure: {reason}")
    widths = sorted({1, args.lanes})
    bench = Bench(args.model, args.lanes, source)
    rows, fit = measure(bench, widths, args.rounds)
    loaded = [[r["p95 ms"] for r in rows if r["width"] == str(w)] for w in widths]
    rows += choose(bench, rows, widths, args.rounds)
    config = {
        "model": args.model,
        "rounds": args.rounds,
        "source": list(source.names),
        "why": reason,
        "kept widths": [widths[k] for k in pruned(loaded)],
        "slowdown": [fit.offset, *fit.slopes],
        "its error": fit.error,
    }
    result_file.show("veltair_widths", rows)
    print(config)
    result_file.write("veltair_widths", config, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
