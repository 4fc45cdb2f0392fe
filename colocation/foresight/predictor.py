"""Knows what every way of serving asks for: layers, groups, whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surplus.colocation.frame.predictor import PREDICTORS, Predictor, Profiles, Services
from surplus.colocation.frame.work import Piece
from surplus.colocation.overlap.group_predictor import Groups
from surplus.colocation.predictors.layers import LayerTimes
from surplus.colocation.predictors.overlap import Overlap


@PREDICTORS.register("foresight")
def foresight(services: Services, profiles: Profiles, path: str | None = None) -> Predictor:
    """Layers by their profiles; groups by a latency model, if there is one.

    Raises
    ------
    ValueError, OSError
        As of ``overlap``.
    """
    if path is None:
        return LayerTimes(services, profiles)
    return GroupsAndLayers(services, profiles, path)


class GroupsAndLayers(LayerTimes):
    """Whole batches alone take what their profile says, groups what a latency model does."""

    def __init__(self, services: Services, profiles: Profiles, path: str) -> None:
        super().__init__(services, profiles)
        self._groups = Overlap(services, profiles, Path(path), True, False)

    def groups_ns(self, groups: Groups, share_percent: int) -> list[int]:
        """Predict groups in one evaluation of the model."""
        return self._groups.groups_ns(groups, share_percent)

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Predict one group."""
        return self._groups.group_ns(pieces, share_percent)
