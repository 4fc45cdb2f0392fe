"""A measured profile: times of some batches on some shares, straight lines between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from surplus.colocation.frame.clock import NS_PER_MS
from surplus.colocation.frame.profile import PROFILES, checked_deviation

_MOST_MS = 1e9


@PROFILES.register("table")
class Table:
    """Times by batch and share.

    Parameters
    ----------
    items : sequence of int
        Batches that were measured, ascending.
    ms : mapping of str to sequence of float
        By share in percent: a time for each batch, in milliseconds.
    deviation : float
        Relative standard deviation, >= 0.

    Raises
    ------
    ValueError
        If a row has the wrong length, or a number is out of range.
    """

    def __init__(
        self, items: Sequence[int], ms: Mapping[str, Sequence[float]], deviation: float = 0.0
    ) -> None:
        if not items or list(items) != sorted(set(items)) or items[0] < 1:
            raise ValueError(f"items must be ascending and >= 1, got {list(items)}")
        if not ms or any(len(row) != len(items) for row in ms.values()):
            raise ValueError(f"each share needs {len(items)} times, one for each batch")
        if any(not 0 < time < _MOST_MS for row in ms.values() for time in row):
            raise ValueError(f"times must be > 0 and below {_MOST_MS:g} ms")
        self._items = list(items)
        self._rows = {int(share): list(row) for share, row in ms.items()}
        self._shares = sorted(self._rows)
        if not 1 <= self._shares[0] <= self._shares[-1] <= 100:
            raise ValueError(f"shares must be 1 to 100 %, got {self._shares}")
        self._deviation = checked_deviation(deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Interpolate by batch, then by share; a batch below the first takes as long as it.

        Raises
        ------
        ValueError
            If the batch is above the last one, or the share outside of those measured.
        """
        if items > self._items[-1]:
            raise ValueError(f"no time for a batch of {items}; the largest is {self._items[-1]}")
        if not self._shares[0] <= share_percent <= self._shares[-1]:
            raise ValueError(f"no time for {share_percent} %; there are {self._shares}")
        by_share = [_between(self._items, self._rows[share], items) for share in self._shares]
        return max(1, round(_between(self._shares, by_share, share_percent) * NS_PER_MS))

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self._deviation


def _between(places: Sequence[int], values: Sequence[float], place: int) -> float:
    """Value at a place: on the straight line between its neighbours, the first one before all."""
    right = bisect_left(places, place)
    if right == 0 or places[right] == place:
        return values[right]
    left = right - 1
    weight = (place - places[left]) / (places[right] - places[left])
    return values[left] + weight * (values[right] - values[left])
