"""A model whose first query loads it, as what serves it asks for answers."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
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
    warm : callable, optional
        Asks a model that was loaded what it is to answer before the first query; blocks.

    Raises
    ------
    EngineError
        If the file is no model that can be served.
    """

    def __init__(
        self,
        model: LazyModel,
        cache: Path | None = None,
        name: str = "",
        warm: Callable[[ServedAlone], None] = lambda _: None,
    ) -> None:
        from surplus.engine.planning.stages import read_model  # all of ONNX

        graph = read_model(model.path, cache, crash_probe=True)
        self.inputs = input_specs(graph)
        self.outputs = output_specs(graph)
        self._lazy = model
        self._name = name
        self._warm = warm
        self._opening = threading.Lock()
        # Guarded by _opening. Not kept: who opened it makes it _loaded, on the event loop.
        self._opened: weakref.ref[ServedAlone] | None = None
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
        loaded = await asyncio.to_thread(self._open)
        waited_ns = time.monotonic_ns() - came_ns
        if self._lazy.holds(loaded.model):  # else it was unloaded meanwhile: a last query
            self._loaded = loaded
        answer = await loaded.infer(inputs, outputs, deadline_ns, priority)
        self._earlier_ns += waited_ns
        return answer

    def _open(self) -> ServedAlone:
        """Load the model and have it warmed, once for all queries that come meanwhile. Blocks."""
        with self._opening:
            model = self._lazy.planned()
            opened = None if self._opened is None else self._opened()
            if opened is None or opened.model is not model:
                opened = ServedAlone(model, self._name)
                self._warm(opened)
                self._opened = weakref.ref(opened)
            return opened

    def unload(self) -> None:
        """Let the model go."""
        self._earlier_ns = self.queued_ns
        self._loaded = None
        self._lazy.unload()
