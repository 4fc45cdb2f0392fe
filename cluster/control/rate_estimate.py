"""Rates to plan for, by what was seen: means that move, with hysteresis, and peaks of late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surplus.cluster.queueing.overflow import Floats


class RateEstimate(Protocol):
    """An estimate of the rates of all models."""

    def see(self, rates_per_s: Floats, window_s: float) -> Floats:
        """Take in what a window had, by model; return what to plan for."""
        ...


@dataclass(frozen=True)
class MovingMeanParams:
    """How fast to follow, and how far ahead to plan.

    Parameters
    ----------
    rise, fall : float
        What a window weighs in the mean if it has more than that, or less; > 0 and <= 1.
    headroom : float
        Part of the mean that is planned for beyond it; >= 0.
    deviations : float
        Of a window's Poisson count, planned for beyond that; >= 0.
    band : float
        How much lower than planned, as a part, the wanted rate has to be for a new plan; > 0.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    gpulet (ATC'22), section 4.6 and its release: averages over 40 windows, a new plan at 10 % of
    change. Departures: it rises faster than it falls, and what is planned for stays within a band.
    """

    rise: float = 1.0
    fall: float = 0.15
    headroom: float = 0.05
    deviations: float = 1.0
    band: float = 0.15

    def __post_init__(self) -> None:
        if not (0 < self.rise <= 1 and 0 < self.fall <= 1):
            raise ValueError(f"rise and fall must be > 0 and <= 1, got {self.rise}, {self.fall}")
        if not (0 <= self.headroom < 100 and 0 <= self.deviations < 100 and 0 < self.band < 1):
            raise ValueError(f"headroom, deviations >= 0 and 0 < band < 1, got {self}")


class MovingMean:
    """An exponentially weighted mean with headroom and hysteresis.

    Parameters
    ----------
    rates_per_s : array of float
        What is believed at first.
    params : MovingMeanParams, optional
    """

    def __init__(self, rates_per_s: Floats, params: MovingMeanParams | None = None) -> None:
        self._params = params or MovingMeanParams()
        self._mean = rates_per_s.astype(np.float64)
        self._planned = np.zeros_like(self._mean)

    def see(self, rates_per_s: Floats, window_s: float) -> Floats:
        """Keep what was planned for while it is enough and not far too much."""
        p = self._params
        weight = np.where(rates_per_s > self._mean, p.rise, p.fall)
        self._mean = self._mean + weight * (rates_per_s - self._mean)
        wanted = self._mean * (1 + p.headroom) + p.deviations * np.sqrt(self._mean / window_s)
        enough = self._planned >= self._mean * (1 + p.headroom / 2)
        close = wanted >= self._planned * (1 - p.band)
        self._planned = np.where(enough & close, self._planned, wanted)
        return self._planned


class RecentPeak:
    """The largest of the last windows: an autoscaler's window of stabilisation.

    Parameters
    ----------
    windows : int
        >= 1.

    References
    ----------
    Kubernetes' horizontal autoscaler scales down to the highest recommendation of the last 300 s;
    Knative's looks at means of 60 s; Ray Serve waits 600 s before it scales down, 30 s up.
    """

    def __init__(self, windows: int = 5) -> None:
        if windows < 1:
            raise ValueError(f"windows must be >= 1, got {windows}")
        self._last: deque[Floats] = deque(maxlen=windows)

    def see(self, rates_per_s: Floats, window_s: float) -> Floats:
        """The peak, by model."""
        self._last.append(rates_per_s)
        peak: Floats = np.max(np.stack(self._last), axis=0)
        return peak
