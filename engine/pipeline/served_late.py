"""A model whose first query loads it, as what serves it asks for answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.runtime.inputs import Array, input_specs, output_specs
from surplus.engine.runtime.served_alone import ServedAlone


class ServedLate:
    """A ``surplus.engine.runtime.queryable.Queryable`` over a ``LazyModel``.

    Knows the signature from the start: the file is read and checked, but no session is made.

    Parameters
    ----------
    name : str
        As of ``ServedAlone``.

    Raises
    ------
    EngineError
        If the file is no model that can be served.
    """

    def __init__(self, model: LazyModel, cache: Path | None = None, name: str = "") -> None:
        from surplus.engine.planning.stages import read_tried  # all of ONNX

        graph = read_tried(model.path, cache)
        self.inputs = input_specs(graph)
        self.outputs = output_specs(graph)
        self._lazy = model
        self._name = name
        self._loaded: ServedAlone | None = None
        self._earlier_ns = 0

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited for the model and for their first lane."""
        return self._earlier_ns + (0 if self._loaded is None else self._loaded.queued_ns)

    @property
    def joined(self) -> int:
        """As of the model, once it is loaded."""
        return 0 if self._loaded is None else self._loaded.joined

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """As of the model, once it is loaded."""
        return {} if self._loaded is None else self._loaded.batches

    @property
    def warning(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._loaded is None else self._loaded.warning

    @property
    def held(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._loaded is None else self._loaded.held

    @property
    def facts(self) -> Mapping[str, str]:
        """As of the model, once it is loaded."""
        return {} if self._loaded is None else self._loaded.facts

    @property
    def failure(self) -> str:
        """As of the model, once it is loaded."""
        return "" if self._loaded is None else self._loaded.failure

    @property
    def route(self) -> None:
        """None: each query says that the model is used."""
        return None

    def foresee(self, deadline_ns: int | None, priority: int | None) -> None:
        """As of the model, once it is loaded."""
        if self._loaded is not None:
            self._loaded.foresee(deadline_ns, priority)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int | None,
    ) -> dict[str, Array]:
        """Run one query, the first after loading the model."""
        if self._loaded is not None:
            return await self._loaded.infer(inputs, outputs, deadline_ns, priority)
        came_ns = time.monotonic_ns()
        model = await asyncio.to_thread(self._lazy.model)
        waited_ns = time.monotonic_ns() - came_ns
        loaded = self._loaded
        if loaded is None:  # else a query that came with this one was faster
            loaded = ServedAlone(model, self._name)
            if self._lazy.holds(
                model
            ):  # else it was unloaded meanwhile, and this is its last query
                self._loaded = loaded
        answer = await loaded.infer(inputs, outputs, deadline_ns, priority)
        self._earlier_ns += waited_ns
        return answer

    def unload(self) -> None:
        """Let the model go."""
        self._earlier_ns = self.queued_ns
        self._loaded = None
        self._lazy.unload()
