"""Which of two runs goes first: the twin of engine/core/scheduler/run_order.hpp.

``run_order`` alone makes the key that all decisions compare; a test compares those with the core's
in random states (tests/colocation/test_core_twin.py).
"""

from __future__ import annotations

from typing import NamedTuple

NEVER = 2**63 - 1
LATE, NOT_DUE = 1, 2
"""How a run stands; 0: it may be in time."""

_BEHIND_ALL = 1 << 40
_A_PRIORITY = 4
"""How far apart the ranks of two priorities are: there are three ways to stand within one."""


class RunOrder(NamedTuple):
    """The smaller goes first.

    Parameters
    ----------
    rank : int
        Best effort, reversed priority, how it stands: may be in time, late, not due.
    due_ns : int
    arrival : int
        Of all runs, each its own.
    """

    rank: int
    due_ns: int
    arrival: int

    @property
    def stands(self) -> int:
        """Whether it may be in time (0), is late or is not due."""
        return self.rank % _A_PRIORITY

    @property
    def is_best_effort(self) -> bool:
        """Whether it goes behind all that is not."""
        return self.rank > _BEHIND_ALL // 2

    @property
    def may_be_late(self) -> bool:
        """Whether it may come late, and is not known to."""
        return self.stands == 0

    def is_of_class(self, other: RunOrder) -> bool:
        """Whether it is of the same priority, and as much best effort."""
        return self.rank // _A_PRIORITY == other.rank // _A_PRIORITY

    def late(self) -> RunOrder:
        """The same, late."""
        return RunOrder(self.rank + 1, self.due_ns, self.arrival)

    def at(self, now_ns: int, takes_ns: int) -> RunOrder:
        """As it stands then.

        Parameters
        ----------
        takes_ns : int
            As predicted, of a run that has not begun; 0 of one that has, which is late only if
            its time has passed.
        """
        comes_late = self.may_be_late and now_ns + takes_ns > self.due_ns
        return self.late() if comes_late else self

    def preempts(self, other: RunOrder) -> bool:
        """Whether it goes before another by more than its arrival."""
        if self.rank != other.rank:
            return self.rank < other.rank
        return self.stands != NOT_DUE and self.due_ns < other.due_ns


def run_order(priority: int, best_effort: bool, due_ns: int | None, arrival: int) -> RunOrder:
    """The key of a run; ``due_ns`` None: it is not due."""
    rank = (_BEHIND_ALL if best_effort else 0) - _A_PRIORITY * priority
    if due_ns is None:
        return RunOrder(rank + NOT_DUE, NEVER, arrival)
    return RunOrder(rank, due_ns, arrival)
