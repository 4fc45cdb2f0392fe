"""One of several models under a policy, as the server sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.runtime.inputs import input_specs, output_specs
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.serving.executors.specs import tensor_spec
from surplus.engine.trial.empty_inputs import EmptyInputs, is_empty

Array = np.ndarray[Any, Any]


class PolicyExecutor:
    """An ``surplus.engine.serving.executor.Executor`` over a service of a ``PolicyService``.

    Parameters
    ----------
    service : PolicyService
    index : int
        Which of its services.
    most_items : int
        Rows that a query may bring.

    Raises
    ------
    ModelError
        If an input or output is not a tensor.
    """

    def __init__(self, service: PolicyService, index: int, most_items: int) -> None:
        model = service.models[index]
        self.inputs = tuple(tensor_spec(spec) for spec in input_specs(model.graph))
        self.outputs = tuple(tensor_spec(spec) for spec in output_specs(model.graph))
        self._service = service
        self._index = index
        self._most_items = most_items
        self._stackable = model.stackable
        self._empty = EmptyInputs(model.graph.model_path, model.graph.folder)

    @property
    def queued_ns(self) -> int:
        """What queries waited before their first group began."""
        return self._service.record.queued_ns[self._index]

    @property
    def warning(self) -> str:
        """Which devices the policy goes on without since they were lost, and why."""
        return "; ".join(self._service.lost.values())

    @property
    def held(self) -> str:
        """Not known under a policy."""
        return ""

    @property
    def failure(self) -> str:
        """Which devices were lost, and why, if none is left."""
        return self._service.failure

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query under the policy.

        The protocol counts levels from 1, the most urgent, 0 being the default; policies take a
        larger priority for more urgent.
        """
        empty = {name: array for name, array in inputs.items() if is_empty(array)}
        if empty:  # may take a child
            await asyncio.to_thread(self._empty.check, empty, lambda: inputs)
        items = self._items(inputs)
        submitted = self._service.submit(
            self._index, inputs, items, deadline_ns, min(0, 1 - priority)
        )
        try:
            answer = await submitted.answer
        except asyncio.CancelledError:
            self._service.abandon(submitted.query)
            raise
        return answer if outputs is None else {name: answer[name] for name in outputs}

    def close(self) -> None:
        """Nothing of its own: the service is closed by whoever made it."""

    def _items(self, inputs: Mapping[str, Array]) -> int:
        if not self._stackable:
            return 1
        rows: dict[str, int] = {name: array.shape[0] for name, array in inputs.items()}
        counts = set(rows.values())
        if len(counts) != 1:
            raise InputError(f"inputs of one query have different numbers of rows: {rows}")
        items = counts.pop()
        if not 1 <= items <= self._most_items:
            raise InputError(f"a query of {items} rows; 1 to {self._most_items} are served")
        return items
