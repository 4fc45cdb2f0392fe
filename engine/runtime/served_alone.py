"""A model whose queries run in the core's own order: by rank, priority and arrival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine._core import Route
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queue_sample import QueueSample, rate_for


class ServedAlone:
    """A ``Queryable`` over a ``Model``, which tells how long its queries wait for a lane.

    Parameters
    ----------
    name : str
        What it is served as, so that recordings call it so; empty leaves its own.
    """

    def __init__(self, model: PlannedModel, name: str = "") -> None:
        self.model = model
        model.be_recorded()
        if name:
            model.be_called(name)
        self.inputs = model.inputs
        self.outputs = model.outputs
        self._waits = QueueSample(rate_for(model.plan))

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited for their first lane (queue_sample.py)."""
        return self._waits.queued_ns

    @property
    def joined(self) -> int:
        """Queries that no call of the model was made for: another's answered them, too."""
        calls, queries = self.model.stacked
        return queries - calls

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """As ``Model.stack_sizes``."""
        return self.model.stack_sizes

    @property
    def warning(self) -> str:
        """As ``Model.warning``."""
        return self.model.warning

    @property
    def held(self) -> str:
        """As ``Model.held``."""
        return self.model.held

    @property
    def facts(self) -> Mapping[str, str]:
        """As ``Model.facts``."""
        return self.model.facts

    @property
    def failure(self) -> str:
        """As ``Model.failure``."""
        return self.model.failure

    @property
    def route(self) -> Route:
        """As ``Model.route``."""
        return self.model.route

    def foresee(self, deadline_ns: int | None, priority: int | None) -> None:
        """As ``Model.foresee``."""
        self.model.foresee(deadline_ns, priority)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int | None,
    ) -> dict[str, Array]:
        """As ``Model.infer``."""
        look = self._waits.look if self._waits.is_due() else None
        answer = await self.model.infer(inputs, outputs, deadline_ns, priority, look)
        self._waits.answered()
        return answer

    def unload(self) -> None:
        """Nothing to release: who holds the model may go on with it."""
