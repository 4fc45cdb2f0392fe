"""Puts a loaded model behind the interface that the server speaks to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.runtime.model import Model
from surplus.engine.runtime.queue_sample import QueueSample, rate_for
from surplus.engine.serving.executors.specs import tensor_spec


class ModelExecutor:
    """An ``surplus.engine.serving.executor.Executor`` over a ``Model``.

    Raises
    ------
    ModelError
        If an input or output is not a tensor: the protocol has no sequences.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inputs = tuple(tensor_spec(spec) for spec in model.inputs)
        self.outputs = tuple(tensor_spec(spec) for spec in model.outputs)
        self._waits = QueueSample(rate_for(model.plan))

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited for their first lane (queue_sample.py)."""
        return self._waits.queued_ns

    @property
    def warning(self) -> str:
        """Which lost device queries go on without, and why."""
        return self.model.warning

    @property
    def held(self) -> str:
        """Which of its segments hold lanes."""
        return self.model.held

    @property
    def failure(self) -> str:
        """For which lost device every query fails, and why."""
        return self.model.failure

    async def infer(
        self,
        inputs: Mapping[str, np.ndarray[Any, Any]],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run one query; cancelling the awaiting task cancels the run.

        The protocol counts levels from 1, the most urgent, 0 being the default; the core runs
        higher priorities first.
        """
        look = self._waits.look if self._waits.is_due() else None
        answer = await self.model.infer(inputs, outputs, deadline_ns, min(0, 1 - priority), look)
        self._waits.answered()
        return answer

    def close(self) -> None:
        """Nothing to release: lanes are shared, sessions go with the model."""
