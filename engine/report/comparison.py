"""A model beside a plain ONNX Runtime session of the same file, in interleaved runs."""

from __future__ import annotations

import logging
import math
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from surplus.engine import _core
from surplus.engine.devices.parsing import available_cores
from surplus.engine.errors import EngineError, ExecutionError, one_line
from surplus.engine.kernels.registry import installed, open_library
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.values import from_value, to_value

_log = logging.getLogger(__name__)


class PlainSession:
    """A model's ONNX file as ONNX Runtime runs it, at a given number of intra-op threads.

    Raises
    ------
    ExecutionError
        If ONNX Runtime refuses the file.
    """

    def __init__(self, model: PlannedModel, threads: int, source: Path | None = None) -> None:
        self.threads = threads
        try:
            path = str(source or model.graph.model_path)
            self._session = _core.Session(path, width=threads)
        except RuntimeError as error:
            raise ExecutionError(f"plain ONNX Runtime: {error}") from error
        self._types = {spec.name: spec.elem_type or None for spec in model.inputs}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one query."""
        values = {name: to_value(a, self._types[name]) for name, a in inputs.items()}
        outputs = self._session.run(values)
        names = self._session.output_names
        return {n: from_value(v) for n, v in zip(names, outputs, strict=True)}


class LibrarySession:
    """A model's ONNX file as a library of kernels runs it, on all cores, by itself.

    Raises
    ------
    ExecutionError
        If the library does not take it.
    """

    def __init__(
        self,
        model: PlannedModel,
        library: str,
        inputs: Mapping[str, Any],
        source: Path | None = None,
    ) -> None:
        self._types = {spec.name: spec.elem_type for spec in model.inputs if spec.name in inputs}
        self._outputs = [spec.name for spec in model.outputs]
        sizes = [(kind, list(np.shape(inputs[name]))) for name, kind in self._types.items()]
        try:
            open_library(library)
            choice = _core.KernelChoice(library, sizes, [s.elem_type for s in model.outputs])
            path = str(source or model.graph.model_path)
            self._model = choice.compile(path, list(self._types), self._outputs, available_cores())
        except (RuntimeError, TypeError, EngineError) as error:
            raise ExecutionError(f"{library}: {error}") from error

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one query."""
        values = [to_value(inputs[name], kind or None) for name, kind in self._types.items()]
        made = self._model.run(values)
        return {name: from_value(v) for name, v in zip(self._outputs, made, strict=True)}


_Runner: TypeAlias = PlannedModel | PlainSession | LibrarySession


def repeat(model: PlannedModel, inputs: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Median time of ``rounds`` queries, after one warm-up."""
    model.run(inputs)
    return {"median_ms": statistics.median(_timed(model, inputs) for _ in range(rounds)) / 1e6}


def compare(
    model: PlannedModel, inputs: Mapping[str, Any], rounds: int, source: Path | None = None
) -> dict[str, Any]:
    """Medians of interleaved runs, their ratio, and the largest output difference.

    ONNX Runtime is taken at its best: one intra-op thread or one for each core that we have.
    Libraries of kernels that are installed and take the model run beside it.

    Parameters
    ----------
    source : Path, optional
        The user's ONNX file; by default the engine's optimised one.
    """
    threads = sorted({1, available_cores()})
    plain = [PlainSession(model, count, source) for count in threads]
    libraries = dict(_libraries(model, inputs, source))
    runners: list[_Runner] = [model, *plain, *libraries.values()]
    times: list[list[int]] = [[] for _ in runners]
    for runner in runners:
        runner.run(inputs)
    for _ in range(rounds):
        for row, runner in zip(times, runners, strict=True):
            row.append(_timed(runner, inputs))
    medians = [statistics.median(row) for row in times]
    best = min(range(1, 1 + len(plain)), key=medians.__getitem__)
    others = zip(libraries, medians[1 + len(plain) :], strict=True)
    return {
        "median_ms": medians[0] / 1e6,
        "onnxruntime_ms": medians[best] / 1e6,
        "onnxruntime_threads": threads[best - 1],
        "ratio": medians[0] / medians[best],
        **{f"{name}_ms": ns / 1e6 for name, ns in others},
        "largest_relative_difference": largest_difference(
            model.run(inputs), plain[best - 1].run(inputs)
        ),
    }


def _libraries(
    model: PlannedModel, inputs: Mapping[str, Any], source: Path | None
) -> Iterator[tuple[str, LibrarySession]]:
    for name in installed():
        try:
            session = LibrarySession(model, name, inputs, source)
            session.run(inputs)
        except (ExecutionError, RuntimeError) as error:
            _log.warning("not beside %s", one_line(error))
        else:
            yield name, session


def largest_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """Largest ``|a - b| / max(|b|, 1)`` over all outputs; infinite where they do not compare."""
    if ours.keys() != theirs.keys():
        return math.inf
    return max((_difference(ours[name], right) for name, right in theirs.items()), default=0.0)


def _difference(a: Any, b: Any) -> float:
    if isinstance(b, list) and isinstance(a, list) and len(a) == len(b):
        return max(map(_difference, a, b), default=0.0)
    if not isinstance(b, np.ndarray):
        return 0.0 if type(a) is type(b) and not isinstance(b, list) and a == b else math.inf
    if not isinstance(a, np.ndarray) or a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if b.dtype.kind not in "fiu":
        return 0.0 if np.array_equal(a, b) else math.inf
    return _largest(a.astype(np.float64), b.astype(np.float64))


def _largest(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b) / np.maximum(np.abs(b), 1.0)
    apart = np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    return float(np.max(apart, initial=0.0))


def _timed(runner: _Runner, inputs: Mapping[str, Any]) -> int:
    start = time.perf_counter_ns()
    runner.run(inputs)
    return time.perf_counter_ns() - start
