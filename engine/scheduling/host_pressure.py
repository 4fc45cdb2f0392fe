"""How hard other work presses on this process, as the machine itself tells.

Cache counters where the processor shows them, else how long threads that could run had to wait for
a core. Either is a proxy: what it means for a model is fitted (``fit_proxy``) or learned while
serving (``surplus.colocation.policies.veltair.pressure.LinearProxy``).

References
----------
VELTAIR (ASPLOS'22), section 4.3: a linear model of misses and accesses of the last cache tells the
slowdown. ``perf_event_open(2)``; ``Documentation/scheduler/sched-stats.rst`` of the kernel for
``schedstat``: time on a core, time waiting for one, in nanoseconds.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from surplus.engine.profiling.counters import thread_waits

_TASKS = Path("/proc/self/task")
_SYSCALL = {"x86_64": 298, "aarch64": 241}
_ATTR_BYTES = 112
_TYPE_HARDWARE = 0
_CACHE_REFERENCES, _CACHE_MISSES = 2, 3
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6


class PressureSource(Protocol):
    """Something of the machine that tells pressure. One thread reads it.

    Attributes
    ----------
    names : tuple of str
        Of the values of a reading.
    """

    names: tuple[str, ...]

    def read(self) -> tuple[float, ...]:
        """Values since the last reading, or since it was made."""
        ...


class RunQueue:
    """Waiting for a core, as a share of the time on one: 0 undisturbed, 1 at half the speed.

    Parameters
    ----------
    tasks : Path
        The kernel's folder of the process's threads.

    Raises
    ------
    OSError
        If the kernel does not tell.
    """

    names: tuple[str, ...] = ("waiting over running",)

    def __init__(self, tasks: Path = _TASKS) -> None:
        self._tasks = tasks
        next(tasks.glob("*/schedstat")).read_text()
        self._before = thread_waits(tasks)

    def read(self) -> tuple[float, ...]:
        """Of all threads that are there now and were there before, or began since."""
        now = thread_waits(self._tasks)
        ran, waited = 0, 0
        for thread, (own_ran, own_waited) in now.items():
            before = self._before.get(thread, (0, 0))
            ran += own_ran - before[0]
            waited += own_waited - before[1]
        self._before = now
        return (waited / ran if ran else 0.0,)


class CacheCounters:
    """Misses of the last cache per access, and accesses a nanosecond, of this process.

    Counts threads that begin after it was made, and the one that makes it.

    Raises
    ------
    OSError
        If the processor has no such counters, or the kernel does not show them.
    """

    names: tuple[str, ...] = ("misses per access", "accesses a ns")

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._counters = [_Counter(kind) for kind in (_CACHE_MISSES, _CACHE_REFERENCES)]
        self._before = self._counts()

    def read(self) -> tuple[float, ...]:
        """Since the last reading."""
        now = self._counts()
        misses, accesses, ns = (b - a for a, b in zip(self._before, now, strict=True))
        self._before = now
        return (misses / accesses if accesses else 0.0, accesses / max(1, ns))

    def close(self) -> None:
        """Give the counters back."""
        for counter in self._counters:
            os.close(counter.file)

    def _counts(self) -> tuple[int, int, int]:
        misses, accesses = (counter.value() for counter in self._counters)
        return misses, accesses, self._clock_ns()


class _Counter:
    """One hardware counter of this process and its threads to come."""

    def __init__(self, config: int) -> None:
        number = _SYSCALL.get(platform.machine())
        if number is None:
            raise OSError(f"no counters on {platform.machine()}")
        attr = bytearray(_ATTR_BYTES)
        fields = ((0, 4, _TYPE_HARDWARE), (4, 4, _ATTR_BYTES), (8, 8, config))
        flags = (40, 8, _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV)
        for start, size, value in (*fields, flags):
            attr[start : start + size] = value.to_bytes(size, "little")
        libc = ctypes.CDLL(None, use_errno=True)
        raw = (ctypes.c_char * _ATTR_BYTES).from_buffer(attr)
        self.file = int(libc.syscall(number, raw, 0, -1, -1, 0))
        if self.file < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"perf_event_open: {os.strerror(code)}")

    def value(self) -> int:
        return int.from_bytes(os.read(self.file, 8), "little")


def pressure_source() -> tuple[PressureSource | None, str]:
    """The best source that the machine has, and why it is not a better one.

    Returns
    -------
    source : PressureSource or None
        None if the machine tells nothing.
    reason : str
        Empty if it has cache counters.
    """
    try:
        return CacheCounters(), ""
    except OSError as error:
        reason = f"no cache counters ({error.strerror or error})"
    try:
        return RunQueue(), reason
    except (OSError, StopIteration) as error:
        return None, f"{reason}, no schedstat ({error})"


@dataclass(frozen=True)
class ProxyFit:
    """Slowdown as a linear function of a reading.

    Parameters
    ----------
    offset : float
    slopes : tuple of float
        By value of the reading.
    error : float
        Root mean square of what the line misses by, of slowdowns.
    """

    offset: float
    slopes: tuple[float, ...]
    error: float

    def slowdown(self, reading: Sequence[float]) -> float:
        """At least 1."""
        values = zip(self.slopes, reading, strict=True)
        return max(1.0, self.offset + sum(slope * value for slope, value in values))


def fit_proxy(readings: Sequence[Sequence[float]], slowdowns: Sequence[float]) -> ProxyFit:
    """Least squares.

    Raises
    ------
    ValueError
        If there are fewer readings than unknowns, or not as many as slowdowns.
    """
    rows: np.ndarray[Any, Any] = np.array(readings, float)
    if rows.ndim != 2 or len(rows) != len(slowdowns) or len(rows) <= rows.shape[1]:
        text = f"{len(slowdowns)} slowdowns for readings of shape {rows.shape}"
        raise ValueError(f"a line needs more readings than values: {text}")
    columns = np.column_stack([np.ones(len(rows)), rows])
    found, *_ = np.linalg.lstsq(columns, np.array(slowdowns, float), rcond=None)
    missed = columns @ found - np.array(slowdowns)
    return ProxyFit(
        float(found[0]),
        tuple(float(slope) for slope in found[1:]),
        float(np.sqrt(np.mean(missed**2))),
    )
