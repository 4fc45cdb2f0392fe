"""One way to answer queries of a model: the engine, or ONNX Runtime in one of its ways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.gpu_check import onnxruntime_cuda
from bench.gpu_check.other_process import isolated_runner
from bench.gpu_check.subject import Subject
from surplus.engine.runtime.planned_model import PlannedModel

Outputs = Mapping[str, np.ndarray[Any, Any]]

ENGINE = "engine"
WHOLE = "ONNX Runtime, one segment on the GPU"
WHOLE_CAPTURED = "ONNX Runtime, one segment as a CUDA graph"

_CALLERS = 8
"""Threads that call a session of ONNX Runtime's own package at once."""


@dataclass(frozen=True)
class Contender:
    """One way to answer queries.

    Parameters
    ----------
    name : str
        For tables.
    run : callable
        Answers one query in the calling thread.
    infer : callable
        The same for an event loop.
    is_bar : bool
        Whether it is what the bars compare with: ONNX Runtime without CUDA graphs.
    """

    name: str
    run: Callable[[], Outputs]
    infer: Callable[[], Awaitable[object]]
    is_bar: bool = False


def of_model(name: str, model: PlannedModel, inputs: Outputs, *, is_bar: bool = False) -> Contender:
    """A plan in our core."""
    given = dict(inputs)
    return Contender(name, lambda: model.run(given), lambda: model.infer(given), is_bar)


def of_call(name: str, run: Callable[[], Outputs], *, is_bar: bool = False) -> Contender:
    """A blocking call, thread-safe."""
    pool = ThreadPoolExecutor(_CALLERS)

    async def infer() -> object:
        return await asyncio.get_running_loop().run_in_executor(pool, run)

    return Contender(name, run, infer, is_bar)


def peers(subject: Subject) -> list[Contender]:
    """ONNX Runtime without graphs: one segment in our core, and its own package where it can."""
    found = [of_model(WHOLE, subject.whole(captured=False), subject.inputs, is_bar=True)]
    if not subject.setting.is_emulated and onnxruntime_cuda.has(onnxruntime_cuda.CUDA):
        run = isolated_runner(subject.path, subject.inputs)
        found.append(of_call("ONNX Runtime, its own package", run, is_bar=True))
    return found
