"""What a choice of the next batch has to be: the rule in Python, and its native twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.choice import Column, Hopeless
from surplus.colocation.policies.surplus.rooms import DeviceRoom, HeldShare, SharePlace


class Starting(NamedTuple):
    """A batch that starts.

    Parameters
    ----------
    device : int
    best : Column
    columns : sequence of Column
        Those that might join it in a group, and itself.
    """

    device: int
    best: Column
    columns: Sequence[Column]


class StartChoice(Protocol):
    """Chooses; whoever learns, prices and starts tells it, and keeps the rooms."""

    def next(self, state: State, event: Event) -> Starting | Hopeless | None:
        """Start or give up on the first device that has room for something, the emptiest first.

        Where nothing could start at the last event nothing can now, unless something ended there.
        Asked again about the same event, nothing but what it said has changed.
        """
        ...

    def wake_ns(self, now_ns: int) -> int | None:
        """When to ask again, if nothing happens before."""
        ...

    def moved(self, rooms: Mapping[int, DeviceRoom]) -> None:
        """Serve on other devices from now on; nothing is wished there yet."""
        ...

    def adopt(self, blocking: Blocking) -> None:
        """Others wait, and they hold something else: ``market.works`` were set."""
        ...

    def expects(self, service: int, items: int, places: Sequence[SharePlace]) -> None:
        """Queries of so many items will come, and may run there."""
        ...

    def started(self, device: int, partition: int, held: HeldShare, took_ns: int) -> None:
        """A group starts that is predicted to take so long; its room has been told."""
        ...

    def ended(self, partition: int) -> None:
        """A group has ended; its room has been told."""
        ...

    def learnt(self, service: int) -> None:
        """The ratios of a service's times were learnt anew."""
        ...

    def priced(self) -> None:
        """The market has another price."""
        ...

    def departed(self, service: int) -> None:
        """Another part of a service's queries is given up: ``market.given_up`` was set."""
        ...

    def valued(self, service: int) -> None:
        """A query of a service is worth something else: ``market.values`` was set."""
        ...
