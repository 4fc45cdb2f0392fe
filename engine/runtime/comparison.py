"""A model beside a plain ONNX Runtime session of the same file, in interleaved runs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import _core
from engine.runtime.model import Model
from engine.runtime.values import from_value, to_value


class PlainSession:
    """The whole model as ONNX Runtime runs it, at a given number of intra-op threads."""

    def __init__(self, model: Model, threads: int) -> None:
        self.threads = threads
        self._session = _core.Session(str(model.graph.model_path), width=threads)
        self._types = {spec.name: spec.elem_type or None for spec in model.inputs}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one query."""
        values = {name: to_value(a, self._types[name]) for name, a in inputs.items()}
        outputs = self._session.run(values)
        names = self._session.output_names
        return {n: from_value(v) for n, v in zip(names, outputs, strict=True)}


def repeat(model: Model, inputs: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Median time of ``rounds`` queries, after one warm-up."""
    model.run(inputs)
    return {"median_ms": statistics.median(_timed(model, inputs) for _ in range(rounds)) / 1e6}


def compare(model: Model, inputs: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Medians of interleaved runs, their ratio, and the largest output difference.

    ONNX Runtime is taken at its best: one intra-op thread or one for each core that we have.
    """
    threads = sorted({1, len(os.sched_getaffinity(0))})
    plain = [PlainSession(model, count) for count in threads]
    runners: list[Model | PlainSession] = [model, *plain]
    times: list[list[int]] = [[] for _ in runners]
    for runner in runners:
        runner.run(inputs)
    for _ in range(rounds):
        for row, runner in zip(times, runners, strict=True):
            row.append(_timed(runner, inputs))
    medians = [statistics.median(row) for row in times]
    best = min(range(1, len(runners)), key=medians.__getitem__)
    return {
        "median_ms": medians[0] / 1e6,
        "onnxruntime_ms": medians[best] / 1e6,
        "onnxruntime_threads": threads[best - 1],
        "ratio": medians[0] / medians[best],
        "largest_relative_difference": largest_difference(
            model.run(inputs), plain[best - 1].run(inputs)
        ),
    }


def largest_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """Largest ``|a - b| / max(|b|, 1)`` over all outputs; infinite where shapes differ."""
    worst = 0.0
    for name, array in theirs.items():
        worst = max(worst, _difference(ours[name], array))
    return worst


def _difference(a: Any, b: Any) -> float:
    if not isinstance(b, np.ndarray):
        return 0.0 if a == b else float("inf")
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if b.size == 0:
        return 0.0
    if b.dtype.kind not in "fiu":
        return 0.0 if np.array_equal(a, b) else float("inf")
    left, right = a.astype(np.float64), b.astype(np.float64)
    equal = (left == right) | (np.isnan(left) & np.isnan(right))
    apart = np.abs(left - right) / np.maximum(np.abs(right), 1.0)
    return float(np.max(np.where(equal, 0.0, np.nan_to_num(apart, nan=np.inf))))


def _timed(runner: Model | PlainSession, inputs: Mapping[str, Any]) -> int:
    start = time.perf_counter_ns()
    runner.run(inputs)
    return time.perf_counter_ns() - start
