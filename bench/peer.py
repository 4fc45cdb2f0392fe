"""Plain ONNX Runtime through its own Python package: what a user would run without us."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnxruntime


def session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """A session at default optimisation with the given number of intra-op threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def runners(
    path: Path, inputs: Mapping[str, Any], threads: tuple[int, ...] = (1, 2)
) -> dict[str, Callable[[], object]]:
    """``InferenceSession.run`` at each thread setting, by name."""
    return {f"onnxruntime x{n}": _runner(session(path, n), inputs) for n in threads}


def _runner(made: onnxruntime.InferenceSession, inputs: Mapping[str, Any]) -> Callable[[], object]:
    feed = dict(inputs)
    return lambda: made.run(None, feed)
