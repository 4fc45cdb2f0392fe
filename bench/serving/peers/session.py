"""The session that each of these servers has, and how it is run: ONNX Runtime with one thread."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import onnxruntime

CORES = len(os.sched_getaffinity(0))
_SHORT_S = 0.001


class OneThreadSession:
    """Short models run where they are asked, others in as many threads as there are cores."""

    _pool = ThreadPoolExecutor(CORES)

    def __init__(self, file: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])
        self.names = [output.name for output in self._session.get_outputs()]
        self._is_short = True

    def run(self, inputs: Mapping[str, Any]) -> Sequence[Any]:
        """Outputs in the order of ``names``."""
        arrays: Sequence[Any] = self._session.run(None, dict(inputs))
        return arrays

    async def run_aside(self, inputs: Mapping[str, Any]) -> Sequence[Any]:
        """The same on an event loop, which only short ones hold up."""
        if not self._is_short:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self.run, inputs)
        began = time.perf_counter()
        arrays = self.run(inputs)
        self._is_short = time.perf_counter() - began < _SHORT_S
        return arrays


def files_of(words: Sequence[str]) -> dict[str, str]:
    """Files by model, of a command line's NAME=FILE."""
    return dict(word.split("=", 1) for word in words)
