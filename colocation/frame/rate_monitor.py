"""Estimates the rates of services from their arrivals."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.clock import NS_PER_S


class RateMonitor:
    """Exponentially weighted mean of counts in equal windows.

    Parameters
    ----------
    rates_per_s : sequence of float
        What is believed before anything is seen.
    window_ns : int
        Length of a window; > 0.
    windows : int
        Windows that an average spans: a new count weighs ``2 / (windows + 1)``.
    unbiased : bool
        Whether the rates at first are no belief, but stand for knowing nothing: averages are of
        the windows that there were, and 0 in the first one.

    References
    ----------
    gpulet's release: windows of 500 ms, averages over 40 of them.
    """

    def __init__(
        self,
        rates_per_s: Sequence[float],
        window_ns: int,
        windows: int,
        unbiased: bool = False,
    ) -> None:
        if window_ns < 1 or windows < 1:
            raise ValueError(f"window_ns and windows must be >= 1, got {window_ns} and {windows}")
        self._window_ns = window_ns
        self._weight = 2.0 / (windows + 1)
        self._means = list(rates_per_s)
        self._counts = [0] * len(rates_per_s)
        self._end_ns = window_ns
        self._unknown = 1.0 if unbiased else 0.0

    def arrived(self, service: int, now_ns: int) -> None:
        """Count a query; time never goes back."""
        if now_ns >= self._end_ns:
            self._close(now_ns)
        self._counts[service] += 1

    def rates_per_s(self, now_ns: int) -> tuple[float, ...]:
        """Means over the windows that have ended."""
        if now_ns >= self._end_ns:
            self._close(now_ns)
        known = 1.0 - self._unknown or 1.0
        if known == 1.0:
            return tuple(self._means)
        return tuple(mean / known for mean in self._means)

    def reset(self, service: int, rate_per_s: float) -> None:
        """Believe a rate again, of a service that has come back."""
        self._means[service] = rate_per_s

    def _close(self, now_ns: int) -> None:
        """End the window that is open, and the empty ones since."""
        empty = (now_ns - self._end_ns) // self._window_ns
        self._end_ns += (empty + 1) * self._window_ns
        fade = (1.0 - self._weight) ** empty
        self._unknown *= (1.0 - self._weight) * fade
        for service, count in enumerate(self._counts):
            seen_per_s = count * NS_PER_S / self._window_ns
            mean = self._means[service]
            self._means[service] = (mean + self._weight * (seen_per_s - mean)) * fade
        self._counts = [0] * len(self._counts)
