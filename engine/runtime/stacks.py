"""How queries of a model that wait at the same time may be answered together, by one call.

What is known of one model on this machine: which queries, how many rows, how long that takes, and
from how many rows on a query's bits are those that it has alone (engine/planning/stack_search.py).
The core forms the batches (engine/core/devices/cpu/stack.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class StackedShape:
    """What an input of a query that is stacked has behind the leading dimension."""

    name: str
    elem_type: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class RowsTime:
    """What a call takes for so many rows."""

    rows: int
    ns: int


@dataclass(frozen=True)
class Stacks:
    """What was found out of a model as one segment of one lane.

    Parameters
    ----------
    why_not : str
        Why its queries are answered one by one; empty if they may be answered together.
    shapes : tuple of StackedShape
        By input, in any order.
    times : tuple of RowsTime
        Measured, ascending, from one row to as many as are worth it.
    same_from : int
        Rows of a query from which on its bits are the same in every stack; 0: they never are.
    """

    why_not: str = ""
    shapes: tuple[StackedShape, ...] = ()
    times: tuple[RowsTime, ...] = ()
    same_from: int = 0

    def least_rows(self, *, any_bits: bool) -> int:
        """Rows that a query must have, to be answered with others; 0: none ever is."""
        return 1 if any_bits else self.same_from

    @property
    def saved_ns(self) -> int:
        """How much less a row takes in the largest batch than alone."""
        most = self.times[-1]
        return self.times[0].ns - most.ns // most.rows

    def takes_ns(self, most_rows: int) -> list[int]:
        """What calls take for 1, 2, ... rows, those not measured in between; so many at most."""
        found = [self.times[0].ns]
        for before, after in pairwise(self.times):
            step = (after.ns - before.ns) / (after.rows - before.rows)
            found += [
                max(1, round(before.ns + step * (rows - before.rows)))
                for rows in range(before.rows + 1, after.rows + 1)
            ]
        return found[:most_rows]
