"""One of several models under a policy, as what serves it asks for answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from surplus.engine.errors import InputError
from surplus.engine.runtime.inputs import Array, is_empty
from surplus.engine.scheduling.policy_service import PolicyService


class ServedByPolicy:
    """A ``surplus.engine.runtime.queryable.Queryable`` over a service of a ``PolicyService``.

    Parameters
    ----------
    service : PolicyService
    index : int
        Which of its services.
    most_items : int
        Rows that a query may bring.
    """

    def __init__(self, service: PolicyService, index: int, most_items: int) -> None:
        self._model = service.models[index]
        self.inputs = self._model.ports.inputs
        self.outputs = self._model.ports.outputs
        self._service = service
        self._index = index
        self._most_items = most_items

    @property
    def queued_ns(self) -> int:
        """What queries waited before their first group began."""
        return self._service.record.queued_ns[self._index]

    @property
    def joined(self) -> int:
        """None: what a policy batches is one call for each item."""
        return 0

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """None, for the same reason."""
        return {}

    @property
    def warning(self) -> str:
        """Which devices the policy goes on without since they were lost, and why; held lanes."""
        return "; ".join(filter(None, (*self._service.lost.values(), self.held)))

    @property
    def held(self) -> str:
        """Which of its segments hold lanes."""
        return self._model.parts.held

    @property
    def facts(self) -> Mapping[str, str]:
        """Nothing yet."""
        return {}

    @property
    def failure(self) -> str:
        """Which devices were lost or have no lane, and why, if none is left."""
        return self._service.failure

    @property
    def route(self) -> None:
        """None: the policy says when each query runs."""
        return None

    def foresee(self, deadline_ns: int | None, priority: int | None) -> None:
        """Nothing: the policy decides when it has the query."""

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int | None,
    ) -> dict[str, Array]:
        """Run one query under the policy."""
        if any(map(is_empty, inputs.values())):  # may take a child
            await asyncio.to_thread(self._model.ports.values, inputs, outputs)
        items = self._items(inputs)
        submitted = self._service.submit(self._index, inputs, items, deadline_ns, priority or 0)
        try:
            answer = await submitted.answer
        except asyncio.CancelledError:
            self._service.abandon(submitted.query)
            raise
        return answer if outputs is None else {name: answer[name] for name in outputs}

    def unload(self) -> None:
        """Nothing of its own: the service is closed by whoever made it."""

    def _items(self, inputs: Mapping[str, Array]) -> int:
        if not self._model.stackable:
            return 1
        rows: dict[str, int] = {name: array.shape[0] for name, array in inputs.items()}
        counts = set(rows.values())
        if len(counts) != 1:
            raise InputError(f"inputs of one query have different numbers of rows: {rows}")
        items = counts.pop()
        if not 1 <= items <= self._most_items:
            raise InputError(f"a query of {items} rows; 1 to {self._most_items} are served")
        return items
