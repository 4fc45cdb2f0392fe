"""Replay of recorded arrivals, with the model, the priority and the timeout of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.arrivals.process import checked_rate, register
from surplus.loadgen.arrivals.rows import FileRow, read_rows
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.duration import parse_duration_ns

_UNITS_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
_FIELDS = frozenset({"time", "model", "priority", "timeout"})
_FOREVER_NS = 2.0**62


class TraceLabel(NamedTuple):
    """What a row says of its query; empty and None where it says nothing."""

    model: str = ""
    priority: int | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True)
class _Rows:
    """Of a file, by time: the first query is at 0."""

    offsets_ns: NDArray[np.float64]
    labels: tuple[TraceLabel, ...]


@register("trace")
class TraceArrivals:
    """Times from a file; it ends with its last query.

    A CSV file with a header, or JSON Lines (``.jsonl``), with the fields ``time`` and, where
    wanted, ``model``, ``priority`` and ``timeout`` (as ``50ms``).

    Parameters
    ----------
    rate_per_s : float or None
        Plays it so fast that the mean is this; None: by ``speed``.
    path : str
    unit : str
        Of ``time``: s, ms, us or ns.
    speed : float
        2 plays it twice as fast; > 0.

    Raises
    ------
    ValueError
        If the file says something else; it says where.
    OSError
        If it cannot be read.
    """

    def __init__(
        self, rate_per_s: float | None = None, path: str = "", unit: str = "s", speed: float = 1.0
    ) -> None:
        if not path:
            raise ValueError("a trace needs a file, as in trace:path=arrivals.csv")
        if unit not in _UNITS_NS:
            raise ValueError(f"unit must be one of {', '.join(_UNITS_NS)}, got {unit!r}")
        if rate_per_s is not None and speed != 1.0:
            raise ValueError("a trace is played by a rate or a speed, not by both")
        self._path = path
        self._rows = _read(Path(path), _UNITS_NS[unit])
        self._speed = checked_rate(speed, "speed")
        if rate_per_s is not None:
            self._speed = checked_rate(rate_per_s) / self.rate_per_s

    @property
    def rate_per_s(self) -> float:
        """Gaps of the trace over its length."""
        offsets_ns = self._rows.offsets_ns
        length_ns = max(1.0, float(offsets_ns[-1]))
        return max(1, len(offsets_ns) - 1) * NS_PER_S / length_ns * self._speed

    @property
    def labels(self) -> tuple[TraceLabel, ...]:
        """Of each query, in the order of their times."""
        return self._rows.labels

    def scaled(self, factor: float) -> TraceArrivals:
        """The trace played faster: a recorded query cannot come twice."""
        other = object.__new__(TraceArrivals)
        other._path, other._rows = self._path, self._rows
        other._speed = self._speed * checked_rate(factor, "factor")
        return other

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Those of the file; nothing is drawn."""
        played = np.minimum(self._rows.offsets_ns / self._speed, _FOREVER_NS)
        yield from np.rint(played).astype(np.int64).tolist()

    def describe(self) -> dict[str, Any]:
        """Name, file, speed and the rate that it comes to."""
        said = {"path": self._path, "speed": self._speed, "rows": len(self._rows.labels)}
        return {"process": "trace", "rate_per_s": self.rate_per_s} | said


def _read(path: Path, unit_ns: float) -> _Rows:
    times, labels = [], []
    for row in read_rows(path, _FIELDS):
        time = row.number("time")
        if time is None:
            raise row.error("time: there is no number")
        times.append(time * unit_ns)
        labels.append(_label(row))
    if not times:
        raise ValueError(f"{path}: no rows")
    offsets_ns = np.array(times) - min(times)
    if not offsets_ns.max() < _FOREVER_NS:
        raise ValueError(f"{path}: its times are more than a century apart")
    order = np.argsort(offsets_ns, kind="stable")
    return _Rows(offsets_ns[order], tuple(labels[place] for place in order))


def _label(row: FileRow) -> TraceLabel:
    priority = row.number("priority")
    if priority is not None and (priority < 0 or priority != int(priority)):
        raise row.error(f"priority: {priority:g} is not a whole number >= 0")
    timeout_ns = None
    if text := row.text("timeout"):
        try:
            timeout_ns = parse_duration_ns(text)
        except ValueError as error:
            raise row.error(f"timeout: {error}") from None
        if timeout_ns <= 0:
            raise row.error(f"timeout: {text} is not > 0")
    return TraceLabel(row.text("model"), None if priority is None else int(priority), timeout_ns)
