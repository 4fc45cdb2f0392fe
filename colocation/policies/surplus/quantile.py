"""A quantile that is followed while values come, whatever they do.

References
----------
Gibbs, Candes: Adaptive conformal inference under distribution shift, NeurIPS 2021; Angelopoulos,
Candes, Tibshirani: Conformal PID control for time series prediction, NeurIPS 2023, section 2.1
(quantile tracking). Whatever the values are, if they lie in a range of length ``B`` then after
``T`` of them the share above the quantile differs from ``1 - level`` by at most
``(B / step + 1) / T``.
"""

from __future__ import annotations


class QuantileTracker:
    """Goes up where a value is above it, and down by less where none is.

    Parameters
    ----------
    level : float
        Share of the values that are to be at most the quantile; 0 < level < 1.
    first : float
        What it is before the first value; > 0.
    step : float
        Of one value, as a part of the largest seen of late; > 0.

    Attributes
    ----------
    value : float

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    __slots__ = ("_level", "_scale", "_step", "value")

    def __init__(self, level: float, first: float = 1.0, step: float = 0.05) -> None:
        if not 0 < level < 1 or not first > 0 or not step > 0:
            text = f"got {level}, {first} and {step}"
            raise ValueError(f"0 < level < 1, first > 0 and step > 0, {text}")
        self._level = level
        self._step = step
        self._scale = first
        self.value = first

    def seen(self, value: float) -> None:
        """Follow."""
        self._scale = max(value, 0.99 * self._scale)
        above = value > self.value
        self.value += self._step * self._scale * (self._level if above else self._level - 1.0)
