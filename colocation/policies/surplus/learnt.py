"""What groups really take, over what was predicted: learnt while serving."""

from __future__ import annotations

from surplus.colocation.policies.surplus.quantile import QuantileTracker

_WEIGHT = 0.05
"""Of a new time: means span about 40 groups."""
_RANGE = (0.1, 10.0)
"""A profile that is further off than this is not learnt but wrong."""


class TimeRatios:
    """Time over prediction of the groups of each service: mean, and a quantile.

    Neighbours, wrong profiles and scatter are all in it.

    Parameters
    ----------
    services : int
    sure : float
        The quantile, 0 to 1.

    Attributes
    ----------
    mean, bound : list of float
        By service; what predictions are to be multiplied by, for the mean and for the quantile.
    """

    def __init__(self, services: int, sure: float) -> None:
        self.mean = [1.0] * services
        self.bound = [1.0] * services
        self._trackers = [QuantileTracker(sure) for _ in range(services)]

    def took(self, service: int, predicted_ns: int, took_ns: int) -> None:
        """Learn from a group of one service; ``predicted_ns`` is of the profile alone."""
        if predicted_ns <= 0:
            return
        least, most = _RANGE
        ratio = min(most, max(least, took_ns / predicted_ns))
        self.mean[service] += _WEIGHT * (ratio - self.mean[service])
        tracker = self._trackers[service]
        tracker.seen(ratio)
        self.bound[service] = max(tracker.value, self.mean[service])
