"""The deployment of a simulated server, replaced by whoever plans the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.stage import Stage


class HandedOver:
    """Takes a deployment over when it is handed one.

    Parameters
    ----------
    prepare : callable
        Of the executor.
    """

    wake_ns = None
    coming: frozenset[int] = frozenset()

    def __init__(self, prepare: Callable[[Sequence[Partition]], None]) -> None:
        self._prepare = prepare
        self.pending: Deployment | None = None

    def arrived(self, query: Query) -> None:
        """Nothing: rates are seen before the servers."""

    def changed(self, change: Change, stage: Stage, record: Record, now_ns: int) -> None:
        """Nothing: a server is lost as a whole."""

    def step(self, stage: Stage, record: Record, now_ns: int) -> bool:
        """Take over what was handed over."""
        if self.pending is None:
            return False
        placed = stage.placed(self.pending)
        self._prepare(stage.view.partitions)
        stage.take_over(placed)
        self.pending = None
        return True
