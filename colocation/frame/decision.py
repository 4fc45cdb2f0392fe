"""What a dispatcher decides."""

from __future__ import annotations

from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Piece


class Start(NamedTuple):
    """Run pieces side by side in a free partition, at once.

    ``predicted_ns`` is what the policy expects it to take, for the record and for later
    decisions; 0 where it does not predict. In a partition with cores, ``cores`` of them are
    claimed, at least one. ``version`` says which version of the operators runs.
    """

    partition: int
    pieces: tuple[Piece, ...]
    predicted_ns: int = 0
    cores: int = 0
    version: int = 0


class Resize(NamedTuple):
    """Let what runs in a partition go on with another number of cores.

    The simulator charges new threads for cores that are added. An executor that cannot do it
    (the engine: a kernel keeps its threads) leaves the group as it is.
    """

    partition: int
    cores: int


class Drop(NamedTuple):
    """Give up a waiting query.

    ``predicted_end_ns`` says when it would have ended had it been served at once: the miss that
    the caller is told.
    """

    query: Query
    predicted_end_ns: int


class Decision(NamedTuple):
    """What is to be done now: drops first, then resizes, then starts.

    ``wake_ns``: ask again at that time at the latest, even if nothing happens until then (an
    ALARM). The wish holds until the next event; whoever still has it then says so again.
    """

    starts: tuple[Start, ...] = ()
    drops: tuple[Drop, ...] = ()
    wake_ns: int | None = None
    resizes: tuple[Resize, ...] = ()


NOTHING = Decision()
