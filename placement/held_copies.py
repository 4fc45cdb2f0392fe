"""Copies of a simulation that are wanted, but held for others whose tensors are not there yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from surplus.placement.waits import CopyKey
from surplus.placement.wire import Asked


class HeldCopies:
    """Keeps them until all that they are held for was made.

    Parameters
    ----------
    elders_of : mapping of CopyKey to sequence of int
        By copy that is held: tensors that are to be made first.
    """

    def __init__(self, elders_of: Mapping[CopyKey, Sequence[int]]) -> None:
        self._unmade = {copy: set(elders) for copy, elders in elders_of.items()}
        self._kept: dict[CopyKey, Asked] = {}

    def keeps(self, asked: Asked, memory: str) -> bool:
        """Whether a copy that is wanted now has to wait; then it is kept."""
        copy = asked.tensor, memory
        if self._unmade.get(copy):
            self._kept[copy] = asked
            return True
        return False

    def released(self, made: int, now: int) -> Iterator[tuple[Asked, str]]:
        """Copies that were kept for nothing but this tensor, with their targets."""
        for copy, unmade in self._unmade.items():
            if made in unmade:
                unmade.remove(made)
                if not unmade and copy in self._kept:
                    yield replace(self._kept.pop(copy), ready_ns=now), copy[1]
