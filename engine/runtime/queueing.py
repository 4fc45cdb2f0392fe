"""How queries of a model wait before lanes get them: for others, for their turn, for a call.

The core keeps them (engine/core/scheduler/waiting_room.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.engine import _core

_LEVELS, _USUAL = 9, 5
"""As many as the core tells apart, and that of a query of priority 0 among them."""


@dataclass(frozen=True)
class LevelQueue:
    """The queue of the queries of one priority.

    Parameters
    ----------
    most_waiting : int
        The next is turned away; 0: any number.
    timeout_ns : int
        How long one may wait; 0: as long as it takes.
    delays : bool
        Who has waited so long goes behind the others, instead of being turned away.
    """

    most_waiting: int = 0
    timeout_ns: int = 0
    delays: bool = False


@dataclass(frozen=True)
class Queueing:
    """What a model's configuration says of it.

    Parameters
    ----------
    calls : int
        Of the model, that are computed at once; 0: one a lane.
    most_rows : int
        Of a batch; 0: as many as gain.
    preferred_rows : tuple of int
        A batch of so many is not held back.
    delay_ns : int
        How long a query waits for others at most, where its deadline leaves it time to spare.
    usual_level : int
        Of queries that say none, from 1 on.
    levels : tuple of LevelQueue
        The most urgent first; one at least.
    """

    calls: int = 0
    most_rows: int = 0
    preferred_rows: tuple[int, ...] = ()
    delay_ns: int = 0
    usual_level: int = 1
    levels: tuple[LevelQueue, ...] = (LevelQueue(),)

    @staticmethod
    def window(calls: int) -> Queueing:
        """So many queries at a time; the others by the protocol's priorities, then by arrival."""
        return Queueing(calls, usual_level=_USUAL, levels=(LevelQueue(),) * _LEVELS)

    def room(self) -> _core.WaitingRoom:
        """Where the queries of one model wait so.

        Raises
        ------
        ValueError
            If that cannot be meant.
        """
        rows = [(level.most_waiting, level.timeout_ns, level.delays) for level in self.levels]
        return _core.WaitingRoom(
            rows,
            self.usual_level,
            self.calls,
            self.most_rows,
            list(self.preferred_rows),
            self.delay_ns,
        )
