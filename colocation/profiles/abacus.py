"""Solo latencies of a model from Abacus's published measurements of operator groups.

References
----------
Abacus (SC'21), section 5.2 and its public release: each row is a group of two models, their
first and end operators, batch and sequence length, and the median, mean and standard deviation
(the column ``var``) of its latency, in microseconds. Rows in which one model runs no operator
are the other one alone.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import median

from surplus.colocation.files.csv_file import read_rows
from surplus.colocation.frame.profile import PROFILES

_COLUMNS = ["model", "start", "end", "bs", "seq_len"] * 2 + ["median", "mean", "var"]
_NS_PER_US = 1_000
_FULL_SHARE = 100

Solo = dict[tuple[int, int], list[tuple[float, float]]]
"""(batch, sequence) -> (median, relative deviation) of each whole run of the model alone."""


@PROFILES.register("abacus")
class AbacusProfile:
    """Medians over all pairs in which the model ran alone and whole.

    Parameters
    ----------
    folder : str
        The CSV files, one for each pair.
    model : str
    operators : int
        How many the model has in this data; only rows with all of them count.

    Raises
    ------
    ValueError
        If a file is of another format, or the model never ran alone.
    """

    def __init__(self, folder: str, model: str, operators: int) -> None:
        runs = _solo_runs(Path(folder), model, operators)
        if not runs:
            raise ValueError(f"{folder}: {model!r} with {operators} operators never ran alone")
        self._model = model
        self._ns = {
            key: round(median(time for time, _ in rows) * _NS_PER_US) for key, rows in runs.items()
        }
        self._spread = {key: median(spread for _, spread in rows) for key, rows in runs.items()}

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Look a batch up, padded to the next one that was measured.

        Raises
        ------
        ValueError
            If none that large was measured, or the share is not the whole device.
        """
        if share_percent != _FULL_SHARE:
            raise ValueError(f"{self._model}: measured on whole devices only")
        return self._ns[self._padded(items, sequence)]

    def spread(self, items: int, sequence: int) -> float:
        """Median of the measured relative deviations."""
        return self._spread[self._padded(items, sequence)]

    def _padded(self, items: int, sequence: int) -> tuple[int, int]:
        fitting = [key for key in self._ns if key[0] >= items and key[1] >= sequence]
        if not fitting:
            text = f"no time for {items} items of length {sequence}"
            raise ValueError(f"{self._model}: {text}; there are {sorted(self._ns)}")
        return min(fitting)


@cache
def _solo_runs(folder: Path, model: str, operators: int) -> Solo:
    runs: Solo = defaultdict(list)
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise ValueError(f"{folder}: no CSV files")
    for path in files:
        rows = read_rows(path)
        if next(rows, (1, []))[1] != _COLUMNS:
            raise ValueError(f"{path}: the columns must be {','.join(_COLUMNS)}")
        for line, row in rows:
            try:
                _collect(row, model, operators, runs)
            except (ValueError, IndexError, ZeroDivisionError) as error:
                raise ValueError(f"{path}, line {line}: not a measured pair ({error})") from error
    return runs


def _collect(row: list[str], model: str, operators: int, runs: Solo) -> None:
    for own, other in ((row[:5], row[5:10]), (row[5:10], row[:5])):
        whole = own[0] == model and own[1] == "0" and own[2] == str(operators)
        if whole and other[1] == other[2]:
            time_us, mean_us, deviation_us = map(float, row[10:])
            numbers = (time_us, mean_us, 1 + deviation_us)
            if not all(0 < number < float("inf") for number in numbers) or deviation_us < 0:
                raise ValueError(f"times {row[10:]}")
            runs[int(own[3]), int(own[4])].append((time_us, deviation_us / mean_us))
