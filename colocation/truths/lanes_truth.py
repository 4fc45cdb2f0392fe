"""A ground truth for groups of several pieces on the lanes of a device."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame import lane_groups
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.truths.truth import Truth


class LanesTruth:
    """Another truth for each piece, on the lanes that it gets; see ``lane_groups``.

    Parameters
    ----------
    alone : Truth
        Of groups of one piece.
    lanes : int
        Of each device.
    interference : Interference, optional
        Between the pieces of a group.
    widest : int, optional
        Most lanes of a piece; None for no limit.

    Raises
    ------
    ValueError
        If there are fewer than two lanes.
    """

    def __init__(
        self,
        alone: Truth,
        lanes: int,
        interference: Interference | None = None,
        widest: int | None = None,
    ) -> None:
        if lanes < 2:
            raise ValueError(f"pieces run side by side on two lanes or more, got {lanes}")
        self._alone = alone
        self._lanes = lanes
        self._interference = interference
        self._widest = widest

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Time until the last piece has ended."""
        if len(group.pieces) == 1:
            return self._alone.group_ns(group, share_percent)
        lanes = max(1, self._lanes * share_percent // 100)

        def alone(piece: Piece, width: int) -> int:
            return self._alone.group_ns(_only(group, piece), share_percent * width // lanes)

        def slowdowns(pieces: Sequence[Piece]) -> Sequence[int]:
            assert self._interference is not None
            return self._interference.slowdowns_ppm([_only(group, piece) for piece in pieces])

        own = None if self._interference is None else slowdowns
        return lane_groups.group_ns(group.pieces, lanes, alone, own, self._widest)


def _only(group: Group, piece: Piece) -> Group:
    return group._replace(pieces=(piece,))
