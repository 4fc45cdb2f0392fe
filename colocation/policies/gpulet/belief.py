"""What a planner believes that neighbours on a device cost, from what it measured of each alone.

References
----------
gpulet (ATC'22), section 4.4: a factor linear in the L2 and DRAM utilisation of both; here as both
are with their batches on their shares, which is what the model is fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.planner import Demand
from surplus.colocation.policies.gpulet.latency_table import LatencyTable, Row

Utilisation = tuple[float, float]
"""Of cache and of memory bandwidth; 0 to 1."""

ALONE = -inf
"""The press of nobody."""


@runtime_checkable
class Traffic(Protocol):
    """A profile that knows what its batches use of cache and memory."""

    def utilisation(self, items: int, share_percent: int) -> Utilisation:
        """Of a batch alone on a share."""
        ...


@dataclass(frozen=True)
class LinearParams:
    """Coefficients of the factor; the paper's c1, c2, c3, c4, c5.

    The defaults were fitted by ``python -m bench gpulet_interference`` on the stated contention
    law of the simulator, not on a GPU. The authors' own, of a 2080 Ti, are 0.113, 0.716, 0.355,
    0.088, 0.895 by their release.
    """

    l2_own: float = 0.323
    l2_other: float = 0.327
    dram_own: float = 0.464
    dram_other: float = 0.466
    constant: float = 0.914

    def suffered(self, own: Utilisation) -> float:
        """What a batch's own utilisation adds to its factor, the constant in it."""
        return self.l2_own * own[0] + self.dram_own * own[1] + self.constant

    def press(self, other: Utilisation) -> float:
        """What a batch adds to the factor of whoever is beside it."""
        return self.l2_other * other[0] + self.dram_other * other[1]

    def factor(self, own: Utilisation, other: Utilisation) -> float:
        """What the times of one are multiplied with beside the other; >= 1."""
        return max(1.0, self.suffered(own) + self.press(other))


class Belief:
    """Times of a demand's services beside others.

    A profile without utilisations costs nothing and suffers nothing.

    Parameters
    ----------
    demand : Demand
    table : LatencyTable
        Of the same demand.
    params : LinearParams
    """

    def __init__(self, demand: Demand, table: LatencyTable, params: LinearParams) -> None:
        self._demand = demand
        self._table = table
        self._params = params
        self._used: dict[tuple[int, int], list[Utilisation] | None] = {}
        self._rows: dict[tuple[int, int, float], Row] = {}

    def press(self, service: int, percent: int, batch: int) -> float:
        """Of a batch of so many queries on a size."""
        used = self._utilisations(service, percent)
        return self._params.press(used[batch]) if used and batch else ALONE

    def most_press(self, service: int, percent: int) -> float:
        """Of the largest batch that a service can have on a size in time."""
        return self.press(service, percent, self._table.saturated(service, percent))

    def row(self, service: int, percent: int, press: float) -> Row:
        """Nanoseconds by batch beside who presses so hard, never falling."""
        row = self._table.row(service, percent)
        if press == ALONE:
            return row
        key = (service, percent, press)
        if key not in self._rows:
            self._rows[key] = self._pressed(row, self._utilisations(service, percent), press)
        return self._rows[key]

    def _pressed(self, row: Row, used: Sequence[Utilisation] | None, press: float) -> Row:
        if used is None:
            return row
        suffered = self._params.suffered
        both = zip(row, used, strict=True)
        return list(accumulate((t * max(1.0, suffered(own) + press) for t, own in both), max))

    def _utilisations(self, service: int, percent: int) -> list[Utilisation] | None:
        """By batch of queries, as far as the table has times."""
        key = (service, percent)
        if key not in self._used:
            profile, items = self._demand.profiles[service], self._demand.items[service]
            batches = range(len(self._table.row(service, percent)))
            self._used[key] = None
            if isinstance(profile, Traffic):
                self._used[key] = [profile.utilisation(items * b, percent) for b in batches]
        return self._used[key]
