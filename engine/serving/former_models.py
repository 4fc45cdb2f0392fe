"""Closes executors that others have taken the place of, once their last query is answered."""

from __future__ import annotations

import asyncio
import gc

from surplus.engine.runtime.free_memory import give_back
from surplus.engine.serving.resting import Resting
from surplus.engine.serving.served_model import ServedModel

_LOOK_S = 0.02
"""How soon one is closed after its last query; only models that have a former one are looked at."""


class FormerModels:
    """On the server's event loop."""

    def __init__(self) -> None:
        self._models: set[ServedModel] = set()
        self._task: asyncio.Task[None] | None = None

    def watch(self, model: ServedModel) -> None:
        """Close what the model had before, when that is idle."""
        if model.has_former:
            self._models.add(model)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Leave what is left to who closes the models."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self._models:
            idle = [executor for model in self._models for executor in model.take_idle()]
            self._models = {model for model in self._models if model.has_former}
            if idle:
                held = not all(isinstance(executor, Resting) for executor in idle)
                for executor in idle:
                    await asyncio.to_thread(executor.close)
                del executor
                idle.clear()
                if held:
                    await asyncio.to_thread(_give_back)
            if self._models:
                await asyncio.sleep(_LOOK_S)


def pass_over_what_is_here() -> None:
    """Look for cycles of objects only among what comes from now on.

    Nothing of Python's runs while one looks: with a thousand models at rest 70 ms for each model
    that is closed.
    """
    gc.collect()
    gc.freeze()


def _give_back() -> None:
    """What a model held: cycles of objects first, then what the C library keeps."""
    gc.collect()
    give_back()
