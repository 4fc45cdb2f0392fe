"""What is told of a model by whatever stands in front of it."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.runtime.queryable import Queryable


class QueryableOf:
    """The part of ``Queryable`` that is the model's own, whoever changes its queries on the way.

    Parameters
    ----------
    model : Queryable
        That answers in the end.
    """

    def __init__(self, model: Queryable) -> None:
        self._model = model

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited before their first segment began."""
        return self._model.queued_ns

    @property
    def joined(self) -> int:
        """Queries that no call of the model was made for: another's answered them, too."""
        return self._model.joined

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """By how many queries a call answered, of two and more: such calls, and their time, ns."""
        return self._model.batches

    @property
    def warning(self) -> str:
        """Which lost devices queries go on without, and why; which segments hold lanes."""
        return self._model.warning

    @property
    def held(self) -> str:
        """Which of its segments hold lanes."""
        return self._model.held

    @property
    def failure(self) -> str:
        """For which lost devices every query fails, and why."""
        return self._model.failure
