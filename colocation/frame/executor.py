"""What a controller drives: the simulator, or the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.event import Event
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group


class Executor(Protocol):
    """Runs groups in partitions, and tells what happens. One thread calls it."""

    def next(self) -> Event | None:
        """Wait for the next event; None when no more can come.

        Events come in order of time. A live executor blocks here, on one queue into which the
        front end puts arrivals and the core's completion threads put ends.
        """
        ...

    def start(self, group: Group) -> None:
        """Begin a group and return at once; its end is a DONE or FAILED event."""
        ...

    def wake(self, when_ns: int) -> None:
        """Ask for an ALARM at that time; a past time means at once."""
        ...


@runtime_checkable
class ResizingExecutor(Protocol):
    """An executor that can change the cores of what runs."""

    def resize(self, group: Group) -> None:
        """Let a running group go on with the cores that it has now; replaces the group."""
        ...


class ElasticExecutor(Executor, Protocol):
    """An executor whose partitions can change while it runs."""

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Get partitions ready that groups will start in later, and return at once.

        Parameters
        ----------
        partitions : sequence of Partition
            All so far, each at its index; those that were told before keep their places. Which
            of them are in use is not said: groups never hold more than 100 % of a device.
        """
        ...
