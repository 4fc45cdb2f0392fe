"""Puts a model that is loaded by its first query behind the interface that the server speaks to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.runtime.inputs import Array, input_specs, output_specs
from surplus.engine.serving.executors.model import ModelExecutor
from surplus.engine.serving.executors.specs import tensor_spec


class LazyExecutor:
    """An ``surplus.engine.serving.executor.Executor`` over a ``LazyModel``.

    Knows the signature from the start: the file is read and checked, but no session is made.

    Raises
    ------
    EngineError
        If the file is no model that can be served.
    """

    def __init__(self, model: LazyModel, cache: Path | None = None) -> None:
        from surplus.engine.planning.stages import read_tried  # all of ONNX

        graph = read_tried(model.path, cache)
        self.inputs = tuple(tensor_spec(spec) for spec in input_specs(graph))
        self.outputs = tuple(tensor_spec(spec) for spec in output_specs(graph))
        self._lazy = model
        self._executor: ModelExecutor | None = None
        self._earlier_ns = 0

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited for the model and for their first lane."""
        return self._earlier_ns + (0 if self._executor is None else self._executor.queued_ns)

    @property
    def warning(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._executor is None else self._executor.warning

    @property
    def held(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._executor is None else self._executor.held

    @property
    def failure(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._executor is None else self._executor.failure

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query, the first after loading the model."""
        if self._executor is not None:
            return await self._executor.infer(inputs, outputs, deadline_ns, priority)
        came_ns = time.monotonic_ns()
        model = await asyncio.to_thread(self._lazy.model)
        waited_ns = time.monotonic_ns() - came_ns
        executor = self._executor
        if executor is None:  # else a query that came with this one was faster
            executor = ModelExecutor(model)
            if self._lazy.holds(
                model
            ):  # else it was unloaded meanwhile, and this is its last query
                self._executor = executor
        answer = await executor.infer(inputs, outputs, deadline_ns, priority)
        self._earlier_ns += waited_ns
        return answer

    def close(self) -> None:
        """Let the model go."""
        self._earlier_ns = self.queued_ns
        self._executor = None
        self._lazy.unload()
