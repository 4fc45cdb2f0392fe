"""The devices of a plan, their gpulets, and who is beside whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surplus.colocation.policies.gpulet.duty_cycle import Cycle
from surplus.colocation.policies.gpulet.latency_table import SIZES_PERCENT

Place = tuple[int, int]
"""Device, and which of its gpulets."""

Split = tuple[int, ...]
"""Sizes of a device's gpulets, in percent; ``(100,)`` is whole."""

SPLITS: tuple[Split, ...] = ((100,), (50, 50), (40, 60), (20, 80))
"""The ways of dividing a device: at most two gpulets, as the paper's MPS allows."""


@dataclass(frozen=True)
class Memory:
    """What devices hold, and what services need; bytes.

    Parameters
    ----------
    limits : tuple of int or None
        By device; None for no limit.
    needs : tuple of int
        By service, for each gpulet that it is on.
    """

    limits: tuple[int | None, ...]
    needs: tuple[int, ...]


class Floor:
    """Gpulets by device.

    Parameters
    ----------
    splits : sequence of Split
        By device, to begin with.
    elastic : bool
        Whether a whole device may be divided when it is first used.
    memory : Memory, optional
        None where nothing is limited.

    Attributes
    ----------
    sizes_percent : tuple of int
        Sizes that its gpulets have or may get, ascending.
    """

    def __init__(
        self, splits: Sequence[Split], elastic: bool, memory: Memory | None = None
    ) -> None:
        self._elastic = elastic
        self._memory = memory
        sizes = {percent for split in splits for percent in split}
        self.sizes_percent = SIZES_PERCENT if elastic else tuple(sorted(sizes))
        self._cycles: list[list[Cycle]] = [
            [Cycle(percent, 0.0, ()) for percent in split] for split in splits
        ]

    def __getitem__(self, place: Place) -> Cycle:
        """The cycle of a gpulet; without turns if it is free."""
        return self._cycles[place[0]][place[1]]

    def used(self) -> Iterator[tuple[Place, Cycle]]:
        """Gpulets with turns."""
        for device, row in enumerate(self._cycles):
            for k, cycle in enumerate(row):
                if cycle.turns:
                    yield (device, k), cycle

    def free(self) -> list[tuple[int, Place]]:
        """Sizes and places of free gpulets, small ones first; of equals, the first device."""
        found = [
            (cycle.percent, (device, k))
            for device, row in enumerate(self._cycles)
            for k, cycle in enumerate(row)
            if not cycle.turns
        ]
        found.sort()
        return found

    def size_for(self, percent: int, wanted_percent: int) -> int:
        """Size that a free gpulet has once it is taken: a whole device may be divided."""
        return wanted_percent if self._elastic and percent == 100 else percent

    def other(self, place: Place) -> Cycle | None:
        """The other gpulet of the device; None if it is whole."""
        row = self._cycles[place[0]]
        return row[1 - place[1]] if len(row) == 2 else None

    def beside(self, place: Place) -> tuple[int, ...]:
        """Services on the other gpulet of the device."""
        other = self.other(place)
        return () if other is None else tuple(turn.service for turn in other.turns)

    def holds(self, place: Place, cycle: Cycle) -> bool:
        """Whether a device has the memory for a cycle on one of its gpulets."""
        limit = None if self._memory is None else self._memory.limits[place[0]]
        if self._memory is None or limit is None:
            return True
        services = (*self.beside(place), *(turn.service for turn in cycle.turns))
        return sum(self._memory.needs[service] for service in services) <= limit

    def put(self, place: Place, cycle: Cycle) -> None:
        """Put a cycle on a gpulet; a whole one is divided for it."""
        row = self._cycles[place[0]]
        if row[place[1]].percent != cycle.percent:
            row[:] = [cycle, Cycle(100 - cycle.percent, 0.0, ())]
        else:
            row[place[1]] = cycle

    def clear(self, place: Place) -> None:
        """Free a gpulet; a device of which nothing is used is whole again."""
        row = self._cycles[place[0]]
        row[place[1]] = Cycle(row[place[1]].percent, 0.0, ())
        if self._elastic and not any(cycle.turns for cycle in row):
            row[:] = [Cycle(100, 0.0, ())]
