"""Predicts groups on lanes: pieces run side by side, each on its part of them."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame import lane_groups
from surplus.colocation.frame.predictor import PREDICTORS, Profiles, Services
from surplus.colocation.frame.work import Piece
from surplus.colocation.predictors.serial import Serial


@PREDICTORS.register("lanes")
class LanesPredictor:
    """Profiles of the pieces on the lanes that each gets; what neighbours cost is not in it.

    Parameters
    ----------
    services, profiles
        By service; profiles have times on each number of lanes that a piece may get.
    lanes : int
        Of a device.
    widest : int, optional
        Most lanes of a piece: 1 for streams of a GPU; None for no limit.
    margin : float
        As of ``serial``.

    Raises
    ------
    ValueError
        If there is no lane, or the margin is negative.
    """

    def __init__(
        self,
        services: Services,
        profiles: Profiles,
        lanes: int,
        widest: int | None = None,
        margin: float = 0.0,
    ) -> None:
        if lanes < 1 or (widest is not None and widest < 1):
            raise ValueError(f"lanes and widest must be >= 1, got {lanes} and {widest}")
        self._serial = Serial(services, profiles, margin)
        self._lanes = lanes
        self._widest = widest

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Time until the last piece has ended."""
        lanes = max(1, self._lanes * share_percent // 100)

        def alone(piece: Piece, width: int) -> int:
            return self._serial.group_ns((piece,), share_percent * width // lanes)

        return lane_groups.group_ns(pieces, lanes, alone, widest=self._widest)

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """The profile's time, and the margin."""
        return self._serial.alone_ns(service, items, sequence, share_percent)
