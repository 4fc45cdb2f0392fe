"""What a long batch costs those who come while it runs: nothing that runs is interrupted.

A batch of ``t`` on a device that then has no room for another service, whose queries can wait for
``z`` at most, loses the queries of that service that come in its first ``t - z``. Its own service
is one of them: batches of more than half of the target are worth it only if they save enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Patience(NamedTuple):
    """How long a query of a service can wait for a device, and the least share that it needs."""

    wait_ns: float
    service: int
    share_percent: int


class Blocking:
    """Expected losses.

    Parameters
    ----------
    patiences : sequence of Patience
    slots : int
        Devices, or partitions, that queries might go to instead.

    Attributes
    ----------
    patiences : list of Patience
        The shortest wait first.
    slots : int
        At least 1.
    """

    def __init__(self, patiences: Sequence[Patience], slots: int) -> None:
        self.patiences = sorted(patiences)
        self.slots = max(1, slots)

    def loss(
        self,
        took_ns: float,
        left_percent: int,
        per_ns: Sequence[float],
        values: Sequence[float],
    ) -> float:
        """Value of the queries that a batch makes late.

        Parameters
        ----------
        took_ns : float
        left_percent : int
            Share that is free beside it.
        per_ns : sequence of float
            Arrivals a nanosecond, by service.
        values : sequence of float
            Of a query, by service.
        """
        lost = 0.0
        for wait_ns, service, share_percent in self.patiences:
            if wait_ns >= took_ns:
                break
            if share_percent > left_percent:
                lost += values[service] * per_ns[service] * (took_ns - wait_ns)
        return lost / self.slots
