"""How long a load lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadgenParams:
    """A load goes on until both minima are reached (as in MLPerf LoadGen).

    Parameters
    ----------
    min_duration_ns : int
        Least length of the measured part, >= 0.
    min_count : int
        Least number of measured queries, failed ones included, >= 0.
    warmup_ns : int
        Time before the measured part; queries intended for it are sent but not counted, >= 0.
    """

    min_duration_ns: int = 10_000_000_000
    min_count: int = 0
    warmup_ns: int = 0

    def __post_init__(self) -> None:
        for name in ("min_duration_ns", "min_count", "warmup_ns"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be >= 0, got {getattr(self, name)}")
        if self.min_duration_ns == 0 and self.min_count == 0:
            raise ValueError("min_duration_ns or min_count must be > 0")

    def is_over(self, elapsed_ns: int, count: int) -> bool:
        """Whether a query at ``elapsed_ns`` after the warm-up, with ``count`` before, is one
        too many.
        """
        return elapsed_ns >= self.min_duration_ns and count >= self.min_count
