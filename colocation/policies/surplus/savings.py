"""What models save that run in one group, side by side on a whole device: learnt by trying.

Abacus (SC'21) samples groups beforehand and fits a model to them. Here a group is tried where all
of its queries have the time for it even if nothing is saved, and formed from then on where it pays.
"""

from __future__ import annotations

_FIRST = 0.9
"""Of the sum of its pieces; good enough to be tried."""
_PAYS = 0.97
_WEIGHT = 0.2
_TRIED_EVERY = 200
"""Of the groups that might be formed and do not pay, to see whether they do by now."""


class Savings:
    """Time of a group over the sum of its pieces alone, by its services."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], float] = {}
        self._passed: dict[tuple[int, ...], int] = {}

    def kept(self, services: tuple[int, ...]) -> float:
        """Part of the sum that a group takes; services ascending."""
        return self._kept.get(services, _FIRST)

    def pays(self, services: tuple[int, ...]) -> bool:
        """Whether such a group is worth forming, or trying again."""
        if self.kept(services) < _PAYS:
            return True
        passed = self._passed[services] = self._passed.get(services, 0) + 1
        return passed % _TRIED_EVERY == 0

    def took(self, services: tuple[int, ...], part: float) -> None:
        """Learn from a group that took a part of the sum of its pieces."""
        before = self._kept.get(services)
        self._kept[services] = part if before is None else before + _WEIGHT * (part - before)
