"""What replaces a controller's deployment while it serves."""

from __future__ import annotations

from typing import Protocol

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.stage import Stage


class Renewal(Protocol):
    """Told of all that happens; asked at each event whether another deployment takes over."""

    @property
    def wake_ns(self) -> int | None:
        """When it wants to be asked next; None if it does not mind."""
        ...

    @property
    def coming(self) -> frozenset[int]:
        """Services that will have a place soon: their queries wait."""
        ...

    def arrived(self, query: Query) -> None:
        """See a query, served or not."""
        ...

    def changed(self, change: Change, stage: Stage, record: Record, now_ns: int) -> None:
        """See devices and services go and come; the stage knows already."""
        ...

    def step(self, stage: Stage, record: Record, now_ns: int) -> bool:
        """Take over, if it is time; return whether it did."""
        ...
