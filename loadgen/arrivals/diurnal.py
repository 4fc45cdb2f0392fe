"""A day's rise and fall: a Poisson process whose rate follows a sine, or a given curve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.arrivals.poisson import poisson
from surplus.loadgen.arrivals.process import checked_length_s, checked_rate, register
from surplus.loadgen.arrivals.rows import read_numbers
from surplus.loadgen.clock import NS_PER_S

_BLOCK = 4096


@register("diurnal")
class DiurnalArrivals:
    """Rate ``mean x (1 + swing x sin(2 pi (t / period + phase)))``, or a curve instead of the sine.

    Parameters
    ----------
    rate_per_s : float
        Mean over a period.
    swing : float
        0 to 1; of the sine.
    period_s : float
        Length of a day.
    phase : float
        Where in its day the run begins, as a fraction.
    curve : str
        A CSV file with a column ``rate``: levels of equally long parts of a day, between which the
        rate changes linearly, from the last one back to the first. Their mean counts as 1.

    Raises
    ------
    ValueError
        If a value is out of range, or the file says something else; it says where.
    """

    def __init__(
        self,
        rate_per_s: float,
        swing: float = 0.8,
        period_s: float = 60.0,
        phase: float = 0.0,
        curve: str = "",
    ) -> None:
        self.rate_per_s = checked_rate(rate_per_s)
        if not 0 <= swing <= 1:
            raise ValueError(f"swing must be 0 to 1, got {swing}")
        if not abs(phase) < float("inf"):
            raise ValueError(f"phase must be finite, got {phase}")
        self._swing, self._phase, self._curve = swing, phase, curve
        self._period_s = checked_length_s(period_s, "period_s")
        self._levels = _levels(curve) if curve else None

    def scaled(self, factor: float) -> DiurnalArrivals:
        """Another mean; the day is as long as before."""
        rate_per_s = self.rate_per_s * factor
        return DiurnalArrivals(rate_per_s, self._swing, self._period_s, self._phase, self._curve)

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Thin a process of the highest rate.

        References
        ----------
        Lewis, Shedler: Simulation of nonhomogeneous Poisson processes by thinning, 1979.
        """
        peak = 1 + self._swing if self._levels is None else float(self._levels.max())
        # A stream of its own decides who stays: the process draws ahead in blocks.
        decides = np.random.default_rng(int(generator.integers(2**63)))
        every = poisson(self.rate_per_s * peak, generator)
        while True:
            offsets = np.fromiter((next(every) for _ in range(_BLOCK)), np.int64, _BLOCK)
            kept = decides.random(_BLOCK) * peak < self._level(offsets / NS_PER_S)
            yield from offsets[kept].tolist()

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        shape = {"curve": self._curve} if self._curve else {"swing": self._swing}
        day = {"period_s": self._period_s, "phase": self._phase}
        return {"process": "diurnal", "rate_per_s": self.rate_per_s} | shape | day

    def _level(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the mean rate, at these times."""
        days = times_s / self._period_s + self._phase
        if self._levels is None:
            return np.asarray(1 + self._swing * np.sin(2 * np.pi * days), np.float64)
        places = np.arange(len(self._levels)) / len(self._levels)
        return np.asarray(np.interp(days % 1.0, places, self._levels, period=1.0), np.float64)


def _levels(path: str) -> NDArray[np.float64]:
    levels = np.array(read_numbers(Path(path), "rate"))
    if not len(levels) or levels.min() < 0 or not levels.sum():
        raise ValueError(f"{path}: the column 'rate' must have numbers >= 0, not all 0")
    result: NDArray[np.float64] = levels / levels.mean()
    return result
