"""Measured times of the layers of a model on some numbers of cores."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from surplus.colocation.files.csv_file import read_rows
from surplus.colocation.frame.clock import NS_PER_US

_HUNDREDTHS = 100
"""Of a core."""


@dataclass(frozen=True)
class LayerProfile:
    """Times of one model.

    Parameters
    ----------
    cores : tuple of int
        Numbers of cores that were measured, ascending.
    times_ns : tuple of tuple of int, (layers, cores)

    Raises
    ------
    ValueError
        If a row has the wrong length, or a number is not positive.
    """

    cores: tuple[int, ...]
    times_ns: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.cores or list(self.cores) != sorted(set(self.cores)) or self.cores[0] < 1:
            raise ValueError(f"cores must be ascending and >= 1, got {list(self.cores)}")
        if not self.times_ns:
            raise ValueError("a profile without layers")
        for layer, row in enumerate(self.times_ns):
            if len(row) != len(self.cores) or min(row) < 1:
                text = f"{len(self.cores)} times > 0 are needed, got {list(row)}"
                raise ValueError(f"layer {layer}: {text}")

    def block_ns(self, first: int, end: int, cores: int) -> int:
        """Time of layers ``first <= i < end`` on a measured number of cores.

        Raises
        ------
        ValueError
            If that number was not measured.
        """
        sums = self._sums_ns.get(cores)
        if sums is None:
            raise ValueError(f"{cores} cores were not measured, {list(self.cores)} were")
        return sums[end] - sums[first]

    def scaled_ns(self, first: int, end: int, cores: int) -> int:
        """Time of layers on any number of cores.

        That of the next lower number that was measured; below all of them, inversely proportional
        to the cores.
        """
        place = bisect_right(self.cores, cores) - 1
        if place >= 0:
            return self.block_ns(first, end, self.cores[place])
        return -(-self.block_ns(first, end, self.cores[0]) * self.cores[0] // cores)

    def share_ns(self, first: int, end: int, share_percent: int) -> int:
        """Time of layers on a share of the most cores that were measured, in whole ones.

        A share below one core is a part of one: inversely proportional to it.
        """
        hundredths = self.cores[-1] * share_percent
        if hundredths >= _HUNDREDTHS:
            return self.scaled_ns(first, end, hundredths // _HUNDREDTHS)
        return -(-self.scaled_ns(first, end, 1) * _HUNDREDTHS // hundredths)

    def least_cores(self, first: int, end: int, limit_ns: int) -> int | None:
        """Fewest cores that keep a block within a time; None if none do."""
        fitting = (c for c in self.cores if self.block_ns(first, end, c) <= limit_ns)
        return next(fitting, None)

    def fastest(self, first: int, end: int) -> int:
        """Cores on which a block is fastest, the fewest of equals."""
        return min(self.cores, key=lambda c: (self.block_ns(first, end, c), c))

    @cached_property
    def _sums_ns(self) -> dict[int, tuple[int, ...]]:
        """Running sums over the layers, by number of cores."""
        columns = zip(*self.times_ns, strict=True)
        sums = (tuple(accumulate(column, initial=0)) for column in columns)
        return dict(zip(self.cores, sums, strict=True))


def read_layer_profile(path: Path, cores: tuple[int, ...]) -> LayerProfile:
    """Read a table without a header: a layer a row, microseconds, a number of cores a column.

    Raises
    ------
    ValueError
        If the file is not such a table; the message names the file and the row.
    OSError
        If it cannot be read.
    """
    rows = []
    for number, row in read_rows(path):
        try:
            rows.append(tuple(int(float(cell) * NS_PER_US) for cell in row))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path}, row {number}: {error}") from error
    try:
        return LayerProfile(cores, tuple(rows))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
