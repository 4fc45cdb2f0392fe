"""The plainest predictor: pieces of a group take as long as one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.predictor import PREDICTORS, Profiles, Services
from surplus.colocation.frame.profile import part_ns
from surplus.colocation.frame.work import Piece

_MOST_MARGIN = 1000.0


@PREDICTORS.register("serial")
class Serial:
    """Sums up the profiles of the pieces.

    Raises
    ------
    ValueError
        If ``margin`` is not 0 to 1000.
    """

    def __init__(self, services: Services, profiles: Profiles, margin: float = 0.0) -> None:
        if not 0 <= margin <= _MOST_MARGIN:
            raise ValueError(f"margin must be 0 to {_MOST_MARGIN:g}, got {margin}")
        self._operators = tuple(service.operators for service in services)
        self._profiles = profiles
        self._factor = 1.0 + margin
        self._known: dict[tuple[int, int, int, int], int] = {}

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Sum over the pieces, each its part of its model."""
        return sum(
            part_ns(
                self.alone_ns(piece.service, piece.items, piece.sequence, share_percent),
                piece.start,
                piece.end,
                self._operators[piece.service],
            )
            for piece in pieces
        )

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """The profile's time, and the margin."""
        key = (service, items, sequence, share_percent)
        found = self._known.get(key)
        if found is None:
            profiled_ns = self._profiles[service].latency_ns(items, sequence, share_percent)
            found = self._known[key] = round(profiled_ns * self._factor)
        return found
