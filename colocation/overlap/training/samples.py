"""Measured operator groups: what latency models are fitted to.

References
----------
The format is that of Abacus's public release (SC'21, section 5.4): a row is a group, with name,
first operator, end operator, batch and sequence length of each of its models, then median, mean
and standard deviation (the column is called ``var``) over its repeats, in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from surplus.colocation.files.csv_file import read_rows
from surplus.colocation.overlap.features import GroupPart, Layout, Parts, Rows

Column = npt.NDArray[np.float64]

_OF_MODEL = ["model", "start", "end", "bs", "seq_len"]
_OF_GROUP = ["median", "mean", "var"]
_US_PER_MS = 1_000


@dataclass(frozen=True)
class Samples:
    """Groups and their measured latencies.

    Parameters
    ----------
    layout : Layout
    groups : tuple of Parts
    median_ms : array, (groups,)
        Median over the repeats.
    spread : array, (groups,)
        Standard deviation over mean.
    """

    layout: Layout
    groups: tuple[Parts, ...]
    median_ms: Column
    spread: Column

    def __len__(self) -> int:
        return len(self.groups)

    def rows(self) -> Rows:
        """All groups as inputs of a model."""
        return self.layout.rows(self.groups)

    def take(self, places: Sequence[int] | npt.NDArray[np.int64]) -> Samples:
        """Some of them, in the given order."""
        groups = tuple(self.groups[place] for place in places)
        index = np.asarray(places, np.int64)
        return replace(
            self, groups=groups, median_ms=self.median_ms[index], spread=self.spread[index]
        )

    def split(self, share: float, seed: int) -> tuple[Samples, Samples]:
        """Divide at random: ``share`` of them, and the rest.

        Raises
        ------
        ValueError
            If a side would be empty.
        """
        count = round(len(self) * share)
        if not 0 < count < len(self):
            raise ValueError(f"{share:g} of {len(self)} samples leaves nothing on one side")
        order = np.random.default_rng(seed).permutation(len(self))
        return self.take(order[:count]), self.take(order[count:])


def read_samples(
    folder: Path, models: Sequence[str] = (), only: Sequence[str] | None = None
) -> Samples:
    """Read the CSV files of a folder, or of its subfolders if it has none itself.

    Parameters
    ----------
    folder : Path
    models : sequence of str
        Numbers of models, in this order; those that are not named follow by name.
    only : sequence of str, optional
        Take the groups that were sampled for exactly these models.

    Raises
    ------
    ValueError
        If there are no samples, or a row is not one; the message says which.
    OSError
        If a file cannot be read.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    found = [row for path in sorted(folder.glob("*.csv")) for row in _read(path, only)]
    if not found:
        inside = [path for path in sorted(folder.glob("*/*.csv")) if _slots(_header(path))]
        found = [row for path in inside for row in _read(path, only)]
    if not found:
        about = "" if only is None else f" of {', '.join(only)}"
        raise ValueError(f"{folder}: no samples of operator groups{about}")
    return _samples(found, models)


def to_csv(samples: Samples, names: Sequence[str]) -> str:
    """Write groups that were sampled for some models, in the format that is read here.

    The mean is not known: the median stands for it.

    Raises
    ------
    ValueError
        If a name is not in the layout.
    """
    numbers = {name: samples.layout.models.index(name) for name in names}
    lines = [",".join(_OF_MODEL * len(names) + _OF_GROUP)]
    columns = (samples.groups, samples.median_ms.tolist(), samples.spread.tolist())
    for group, median_ms, spread in zip(*columns, strict=True):
        parts = {part.model: part for part in group}
        cells: list[object] = []
        for name in names:
            part = parts.get(numbers[name], GroupPart(numbers[name], 0, 0, 1))
            cells += [name, *part[1:]]
        median_us = median_ms * _US_PER_MS
        lines.append(",".join(map(str, [*cells, median_us, median_us, spread * median_us])))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _NamedPart:
    name: str
    start: int
    end: int
    items: int
    sequence: int


@dataclass(frozen=True)
class _Row:
    parts: tuple[_NamedPart, ...]
    median_us: float
    mean_us: float
    deviation_us: float


def _header(path: Path) -> list[str]:
    return next(read_rows(path), (1, []))[1]


def _slots(columns: list[str]) -> int:
    """For how many models the columns are; 0 if they are not those of operator groups."""
    slots = (len(columns) - len(_OF_GROUP)) // len(_OF_MODEL)
    return slots if slots > 0 and columns == _OF_MODEL * slots + _OF_GROUP else 0


def _read(path: Path, only: Sequence[str] | None) -> list[_Row]:
    slots = _slots(_header(path))
    if not slots:
        raise ValueError(f"{path}: the columns must be {','.join(_OF_MODEL + _OF_GROUP)}")
    wanted = None if only is None else sorted(only)
    names = slice(0, slots * len(_OF_MODEL), len(_OF_MODEL))
    return [
        _row(path, number, values, slots)
        for number, values in islice(read_rows(path), 1, None)
        if wanted is None or sorted(values[names]) == wanted
    ]


def _row(path: Path, number: int, values: list[str], slots: int) -> _Row:
    step = len(_OF_MODEL)
    try:
        parts = tuple(
            _NamedPart(values[at], *map(int, values[at + 1 : at + step]))
            for at in range(0, slots * step, step)
        )
        median_us, mean_us, deviation_us = map(float, values[slots * step :])
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}, line {number}: {error}") from error
    fine = all(0 <= p.start <= p.end and p.items >= 1 and p.sequence >= 0 for p in parts)
    times_fine = all(0 < time_us < float("inf") for time_us in (median_us, mean_us))
    if not fine or not times_fine or not 0 <= deviation_us < float("inf"):
        raise ValueError(f"{path}, line {number}: not a measured group")
    return _Row(parts, median_us, mean_us, deviation_us)


def _samples(found: Sequence[_Row], models: Sequence[str]) -> Samples:
    operators: dict[str, int] = {}
    for row in found:
        for part in row.parts:
            operators[part.name] = max(operators.get(part.name, 1), part.end)
    names = [name for name in models if name in operators]
    names += sorted(set(operators) - set(names))
    layout = Layout(
        tuple(names),
        tuple(operators[name] for name in names),
        max(len(row.parts) for row in found),
    )
    number = {name: place for place, name in enumerate(names)}
    mean_us = np.array([row.mean_us for row in found])
    return Samples(
        layout=layout,
        groups=tuple(
            tuple(
                GroupPart(number[p.name], p.start, p.end, p.items, p.sequence)
                for p in row.parts
                if p.start < p.end
            )
            for row in found
        ),
        median_ms=np.array([row.median_us for row in found]) / _US_PER_MS,
        spread=np.array([row.deviation_us for row in found]) / mean_us,
    )
