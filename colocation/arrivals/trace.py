"""Replay of recorded arrivals: a list of times, or counts a minute."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path

import numpy as np

from surplus.colocation.files.csv_file import read_rows
from surplus.colocation.frame.arrival import ARRIVALS, Times, checked_count, checked_rate
from surplus.colocation.frame.clock import NS_PER_S

_UNITS_PER_S = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_MINUTE_NS = 60 * NS_PER_S
_FOREVER_NS = 2.0**62


@ARRIVALS.register("timestamps")
class Timestamps:
    """Times from a column of a CSV file with a header; the first one becomes 0.

    Parameters
    ----------
    path : str
    column : str
    unit : str
        Of the file: s, ms, us or ns.
    speed : float
        2 plays the trace twice as fast; > 0.

    Raises
    ------
    ValueError
        If the file has no such column, a cell that is no number, or times too far apart for 64
        bits of nanoseconds.
    """

    def __init__(
        self, path: str, column: str = "timestamp", unit: str = "s", speed: float = 1.0
    ) -> None:
        checked_rate(speed, "speed")
        if unit not in _UNITS_PER_S:
            raise ValueError(f"unit must be one of {', '.join(_UNITS_PER_S)}, got {unit!r}")
        times = np.sort(np.array(list(_numbers(Path(path), column))))
        if not len(times):
            raise ValueError(f"{path}: no rows")
        times_ns = (times - times[0]) * (NS_PER_S / (_UNITS_PER_S[unit] * speed))
        if not times_ns[-1] < _FOREVER_NS:
            raise ValueError(f"{path}: {times[0]:g} and {times[-1]:g} {unit} are too far apart")
        self._times_ns: Times = np.rint(times_ns).astype(np.int64)

    @property
    def rate_per_s(self) -> float:
        """Queries of the trace over its length."""
        return len(self._times_ns) * NS_PER_S / max(1, int(self._times_ns[-1]))

    def scaled(self, factor: float) -> Timestamps:
        """The trace played faster: a recorded query cannot come twice."""
        faster = copy(self)
        times_ns = np.rint(self._times_ns / checked_rate(factor))
        faster._times_ns = np.minimum(times_ns, _FOREVER_NS).astype(np.int64)
        return faster

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Those of the trace's beginning; it is not repeated, and nothing is drawn."""
        return self._times_ns[self._times_ns < duration_ns]


@ARRIVALS.register("azure_functions")
class AzureFunctions:
    """One function of a day of the Azure Functions trace: invocations in each minute.

    Within its minute an invocation comes at a uniformly drawn time.

    Parameters
    ----------
    path : str
        A file ``invocations_per_function_md.anon.dNN.csv``.
    function : str
        Its ``HashFunction``.
    first_minute : int
        Where the run begins, from 1.
    speed : float
        60 plays a minute in a second; the rate rises likewise.
    scale : float
        Factor on the counts, applied by drawing.

    Raises
    ------
    ValueError
        If the file has no such function or is of another format.

    References
    ----------
    Shahrad et al.: Serverless in the Wild, ATC 2020, and its published data set.
    """

    def __init__(
        self,
        path: str,
        function: str,
        first_minute: int = 1,
        speed: float = 1.0,
        scale: float = 1.0,
    ) -> None:
        checked_rate(speed, "speed")
        checked_rate(scale, "scale")
        counts = _minutes(Path(path), function)[first_minute - 1 :]
        if first_minute < 1 or not counts.sum():
            raise ValueError(f"{path}: no invocations from minute {first_minute}")
        self._means = counts * scale
        self._minute_ns = _MINUTE_NS / speed

    @property
    def rate_per_s(self) -> float:
        """Mean over the minutes that the trace has."""
        return float(self._means.mean()) * NS_PER_S / self._minute_ns

    def mean_per_s(self, duration_ns: int) -> float:
        """Of the minutes that there is time for; there are none after the trace."""
        before = np.concatenate([[0.0], np.cumsum(self._means)])
        count = np.interp(duration_ns / self._minute_ns, np.arange(len(before)), before)
        return float(count) * NS_PER_S / duration_ns

    def scaled(self, factor: float) -> AzureFunctions:
        """More or fewer invocations in each minute."""
        busier = copy(self)
        busier._means = self._means * checked_rate(factor)
        return busier

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Draw the times within the minutes, and counts where they are scaled to fractions."""
        checked_count(float(self._means.sum()))
        whole = np.floor(self._means)
        counts = (whole + (generator.random(len(whole)) < self._means - whole)).astype(np.int64)
        minute = np.repeat(np.arange(len(counts)), counts)
        times_ns = np.sort((minute + generator.random(len(minute))) * self._minute_ns)
        result: Times = times_ns[times_ns < duration_ns].astype(np.int64)
        return result


def _numbers(path: Path, column: str) -> Iterator[float]:
    rows = read_rows(path)
    _, columns = next(rows, (1, []))
    if column not in columns:
        raise ValueError(f"{path}: no column {column!r}")
    place = columns.index(column)
    for line, row in rows:
        if row:
            yield _number(path, line, row[place] if place < len(row) else None)


def _number(path: Path, line: int, cell: str | None) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise ValueError(f"{path}, line {line}: {cell!r} is not a number")
    return value


def _minutes(path: Path, function: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows = read_rows(path)
    _, columns = next(rows, (1, []))
    minutes = [place for place, name in enumerate(columns) if name.isdigit()]
    if "HashFunction" not in columns or not minutes:
        raise ValueError(f"{path}: not a file of invocations per function and minute")
    name = columns.index("HashFunction")
    for line, row in rows:
        if row[name : name + 1] == [function]:
            row += [""] * (len(columns) - len(row))
            counts = np.array([_number(path, line, row[place]) for place in minutes])
            if counts.min() < 0:
                raise ValueError(f"{path}, line {line}: {counts.min():g} invocations")
            return counts
    raise ValueError(f"{path}: no function {function!r}")
