"""Queries that wait at the same time, answered together and one by one: throughput and latency.

A closed loop in this process: each query is asked again as soon as it is answered. Our model with
batches (as it comes) and without, with ONNX Runtime's kernels, asked in three manners: by a
thread for each query, by one thread that submits and collects, and by a thread a lane. ONNX
Runtime's sessions of one thread, at their best of two manners: one a core with the queries waiting
for it, one for each query. As an upper bound one session a core that is given its rows by hand, in
the largest batch that ours may form. Contenders take turns, a slice of time each a round.

``eight_lenets`` is eight models of one kind, between which the callers are divided.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.infrastructure import peer, result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.infrastructure.timing import SETTLE_S
from bench.models.throughput import Slice, engine_slice, sessions_slice
from surplus import models
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.planned_model import PlannedModel

EIGHT = "eight_lenets"
SIZES: dict[str, dict[str, Any]] = {
    "lenet": {},
    "multi_task": {"batch": 1},
    "deepfm": {"batch": 1},
    "two_tower": {"batch": 1},
    "dlrm": {"batch": 1},
    "bert_base": {"layers": 2, "hidden": 128, "sequence": 16, "vocabulary": 1000},
}
CALLERS = (8, 32)
ROUNDS = 3
BUDGET_S = 9.0
ON, OFF, BY_HAND = "batches", "one by one", "batches by hand"
ON_A_LANE = "batches, a thread a lane"
ON_SUBMITTED, OFF_SUBMITTED = "batches, submitted", "one by one, submitted"
A_CORE, A_CALLER = "a session a core", "a session a caller"


def built_open(name: str) -> tuple[Path, dict[str, np.ndarray[Any, Any]]]:
    """The model with its leading dimension open, and a query of one row."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    parameters = SIZES[name]
    path = FOLDER / f"{name}-open.onnx"
    inputs = models.example_inputs(name, **parameters)
    if not path.exists():
        model = models.build(name, **parameters)
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
        del model.graph.value_info[:]
        onnx.save(model, path)
        np.savez(path.with_suffix(".npz"), **inputs)  # type: ignore[arg-type]
    return path, inputs


def callers_slice(asks: Sequence[Callable[[], object]], seconds: float) -> Slice:
    """A thread each, which asks again as soon as it is answered."""
    latency_ns: list[list[int]] = [[] for _ in asks]
    began = time.perf_counter_ns()
    until = began + round(seconds * 1e9)

    def call(ask: Callable[[], object], own: list[int]) -> None:
        sent = time.perf_counter_ns()
        while sent < until:
            ask()
            now = time.perf_counter_ns()
            own.append(now - sent)
            sent = now

    threads = [
        threading.Thread(target=call, args=row) for row in zip(asks, latency_ns, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flat = list(itertools.chain.from_iterable(latency_ns))
    return Slice(len(flat) / ((time.perf_counter_ns() - began) / 1e9), flat)


@dataclass(frozen=True)
class Loaded:
    """What is asked: models of one kind, or one."""

    path: Path
    inputs: Mapping[str, Any]
    models: Mapping[str, Sequence[PlannedModel]]
    bits: str


def loaded(name: str) -> Loaded:
    """With the bits that queries have alone, where batches keep these, else with any."""
    count = 8 if name == EIGHT else 1
    path, inputs = built_open("lenet" if name == EIGHT else name)
    lanes = len(os.sched_getaffinity(0))

    def load(**more: Any) -> list[PlannedModel]:
        asked = {"cache": FOLDER / "cache", "kernels": "onnxruntime", "tune": "now", **more}
        return [load_planned(path, f"cpu:{lanes}", **asked) for _ in range(count)]

    on, bits = load(), "same"
    if "--any-bits" in on[0].facts["batches"] or " of queries of " in on[0].facts["batches"]:
        on, bits = load(relaxed_numerics=True), "any"
    off = load(relaxed_numerics=bits == "any", max_batch=0)
    return Loaded(path, inputs, {ON: on, OFF: off}, bits)


def contenders(what: Loaded, callers: int) -> dict[str, Callable[[float], Slice]]:
    """Ours, and sessions of one thread."""
    cores = len(os.sched_getaffinity(0))

    def session(inputs: Mapping[str, Any]) -> Callable[[], object]:
        return next(iter(peer.runners(what.path, inputs, (peer.Setting(1),)).values()))

    def ours(kind: str) -> Callable[[float], Slice]:
        turns = itertools.cycle(what.models[kind])
        asks = [functools.partial(next(turns).run, what.inputs) for _ in range(callers)]
        return lambda seconds: callers_slice(asks, seconds)

    def a_lane() -> Callable[[float], Slice]:
        turns = itertools.cycle(what.models[ON])
        asks = [functools.partial(next(turns).run, what.inputs) for _ in range(cores)]
        return lambda seconds: sessions_slice(asks, seconds, callers)

    def submitted(kind: str) -> Callable[[float], Slice]:
        turns = itertools.cycle(what.models[kind])
        submit = lambda inputs: next(turns).submit(inputs)  # noqa: E731
        return lambda seconds: engine_slice(submit, what.inputs, seconds, callers)

    rows = rows_of(what.models[ON][0])
    stack = {name: np.repeat(value, rows, axis=0) for name, value in what.inputs.items()}
    own = [session(what.inputs) for _ in range(callers)]
    by_hand = [session(stack) for _ in range(cores)]
    return {
        ON: ours(ON),
        OFF: ours(OFF),
        ON_A_LANE: a_lane(),
        ON_SUBMITTED: submitted(ON),
        OFF_SUBMITTED: submitted(OFF),
        A_CORE: lambda seconds: sessions_slice(own[:cores], seconds, callers),
        A_CALLER: lambda seconds: callers_slice(own, seconds),
        BY_HAND: lambda seconds: _times(rows, callers_slice(by_hand, seconds)),
    }


def rows_of(model: PlannedModel) -> int:
    """Of the largest batch that it may form, as it says itself; 1 if it forms none."""
    found = re.match(r"up to (\d+) rows", model.facts["batches"])
    return int(found[1]) if found else 1


def _times(rows: int, piece: Slice) -> Slice:
    return Slice(rows * piece.per_second, piece.latency_ns)


def row(name: str, callers: int, budget_s: float = BUDGET_S) -> Row:
    """Measure one model with so many callers for about ``budget_s`` seconds."""
    what = loaded(name)
    runs = contenders(what, callers)
    for run in runs.values():
        run(0.1)  # the second plan is prepared when queries first overlap
    slices: dict[str, list[Slice]] = {key: [] for key in runs}
    names = list(runs)
    joined = 0
    for turn in range(ROUNDS):
        for place in range(len(names)):
            key = names[(place + turn) % len(names)]
            time.sleep(SETTLE_S)
            before = joined_by(what.models[ON])
            slices[key].append(runs[key](budget_s / (ROUNDS * len(names))))
            joined += (joined_by(what.models[ON]) - before) * (key == ON)
    return {"model": name, "queries": callers, "bits": what.bits, **_row(slices, joined)}


def joined_by(asked: Sequence[PlannedModel]) -> int:
    """Queries that no call was made for, so far."""
    return sum(queries - calls for calls, queries in (model.stacked for model in asked))


def _row(slices: Mapping[str, Sequence[Slice]], joined: int) -> Row:
    def per_second(key: str) -> float:
        return statistics.median(piece.per_second for piece in slices[key])

    def ratio(key: str, other: str) -> float:
        pairs = zip(slices[key], slices[other], strict=True)
        return statistics.median(a.per_second / b.per_second for a, b in pairs)

    manners = {ON: "a thread a query", ON_SUBMITTED: "one thread", ON_A_LANE: "a thread a lane"}
    ours = max(manners, key=per_second)
    best = max((A_CORE, A_CALLER), key=per_second)
    answered = sum(len(piece.latency_ns) for piece in slices[ON])
    return {
        "batches /s": per_second(ours),
        "asked by": manners[ours],
        "queries a call": answered / max(1, answered - joined),
        "over one by one": ratio(ON, OFF),
        "the same, one thread": ratio(ON_SUBMITTED, OFF_SUBMITTED),
        "over sessions": ratio(ours, best),
        "sessions": best,
        "over by hand": ratio(ours, BY_HAND),
        **{f"{key} p50, p99 ms": _tails(slices[key]) for key in (ON, OFF)},
        "sessions p50, p99 ms": _tails(slices[best]),
    }


def _tails(slices: Sequence[Slice]) -> str:
    return ", ".join(f"{_percentile(slices, share) / 1e6:.2f}" for share in (0.5, 0.99))


def _percentile(slices: Sequence[Slice], share: float) -> int:
    ordered = sorted(ns for piece in slices for ns in piece.latency_ns)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    """Run and store the table, a process a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join((*SIZES, EIGHT)), metavar="NAME,...")
    add("--budget", type=float, default=BUDGET_S, metavar="S", help="seconds a row (%(default)g)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    add("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(row(args.one[0], int(args.one[1]), args.budget)))
        return

    def measure(key: Key) -> Row:
        command = [sys.executable, "-m", "bench.models.batching", "--one", *key]
        done = subprocess.run(
            [*command, "--budget", str(args.budget)], stdout=subprocess.PIPE, text=True, check=True
        )
        found: Row = json.loads(done.stdout.splitlines()[-1])
        return found

    keys = [(name, str(callers)) for name in args.models.split(",") for callers in CALLERS]
    config = {"rounds": ROUNDS, "budget s": args.budget, "models": args.models}
    rows = fill(Table("batching", config, ("model", "queries"), anew=args.anew), keys, measure)
    result_file.show("batching", rows)


if __name__ == "__main__":
    main()
