"""How hard the neighbours press, as a linear function of something that is easily read.

References
----------
VELTAIR (ASPLOS'22), section 4.3: pressure is the average slowdown of what runs, and a linear model
reads it off performance counters. The reading here is the share of the device's cores that others
hold when a block begins, or what the machine tells (``proxy = "machine"``); the line is learned
while serving, from how much longer blocks took than alone, so that the same policy works simulated
and live. Blocks that are about to end do not count.
"""

from __future__ import annotations

from surplus.colocation.frame.state import State

SOON = 0.1
"""Share of its time within which a block is about to end (section 4.3)."""
_ENOUGH = 8
_FORGET = 0.995


class LinearProxy:
    """Least squares of a straight line, older samples counting less.

    Before it has seen enough samples, or different readings, it says 0: no pressure.
    """

    def __init__(self, forget: float = _FORGET) -> None:
        self._forget = forget
        self._seen = 0
        self._sums = [0.0] * 5

    def observe(self, reading: float, value: float) -> None:
        """Learn what a reading came to."""
        new = (1.0, reading, value, reading * reading, reading * value)
        kept = self._forget
        self._sums = [kept * old + x for old, x in zip(self._sums, new, strict=True)]
        self._seen += 1

    def line(self) -> tuple[float, float]:
        """Offset and slope; both 0 as long as they cannot be told."""
        n, x, y, xx, xy = self._sums
        spread = n * xx - x * x
        if self._seen < _ENOUGH or spread <= 1e-9 * n * n:
            return 0.0, 0.0
        slope = (n * xy - x * y) / spread
        return (y - slope * x) / n, slope

    def at(self, reading: float) -> float:
        """What a reading means; never below 0."""
        offset, slope = self.line()
        return max(0.0, offset + slope * reading)


def held_by_others(state: State, device: int, cores: int) -> float:
    """Share of a device's cores that groups hold which do not end soon."""
    partitions = state.deployment.partitions
    held = 0
    for group in state.running:
        if group is not None and partitions[group.partition].device == device:
            left_ns = group.start_ns + group.predicted_ns - state.now_ns
            if left_ns > SOON * group.predicted_ns:
                held += group.cores
    return held / cores
