"""What happens to a controller."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Group


class EventKind(IntEnum):
    """What happened. The value is the order of events of one instant.

    What ends comes first, so that an arrival finds free what is free, and what ends just when its
    device is lost has ended; alarms come last, so that they see all that happened.
    """

    DONE = 0
    FAILED = 1
    CHANGE = 2
    ARRIVAL = 3
    ALARM = 4


class Event(NamedTuple):
    """One event; ``group`` of DONE and FAILED, ``query`` of ARRIVAL, ``change`` of CHANGE."""

    time_ns: int
    kind: EventKind
    query: Query | None = None
    group: Group | None = None
    change: Change | None = None
