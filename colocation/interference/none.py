"""Partitions that do not disturb each other."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.interference_model import INTERFERENCES, UNIT_PPM
from surplus.colocation.frame.work import Group


@INTERFERENCES.register("none")
class NoInterference:
    """Every group runs at full speed."""

    def __init__(self, names: Sequence[str]) -> None:
        del names

    def slowdowns_ppm(self, groups: Sequence[Group]) -> list[int]:
        """Always 1."""
        return [UNIT_PPM] * len(groups)
