"""What is looked for, and how surely."""

from __future__ import annotations

from dataclasses import dataclass

_WINDOW_S = 5
_TARGETS_PER_WINDOW = 20
"""A server that is asked for 5 % too much is a whole target late at the end of a window."""
_NS_PER_S = 1_000_000_000
_EXPECTED = 5


@dataclass(frozen=True)
class LatencyTarget:
    """Which share of the queries may take how long.

    Parameters
    ----------
    target_ns : int
        > 0; from the intended send time to the answer.
    percentile : float
        Share of the queries in percent that must keep to it, 0 < percentile < 100.
    """

    target_ns: int
    percentile: float = 99.0

    def __post_init__(self) -> None:
        if self.target_ns <= 0:
            raise ValueError(f"the target must be > 0, got {self.target_ns} ns")
        if not 0 < self.percentile < 100:
            raise ValueError(f"percentile must be between 0 and 100, got {self.percentile}")

    @property
    def allowed(self) -> float:
        """Share of the queries that may be late."""
        return 1 - self.percentile / 100

    def __str__(self) -> str:
        return f"{self.percentile:g} % within {self.target_ns / 1e6:g} ms"


@dataclass(frozen=True)
class RampParams:
    """How the highest rate is looked for.

    Parameters
    ----------
    target : LatencyTarget
    window_ns : int
        Length of one run; 0: 5 s, or 20 times the target if that is longer.
    warmup_ns : int
        Before each of them.
    resolution : float
        Relative distance of the lowest rate that is not held from the highest that is, > 0.
    level : float
        How sure it must be that a rate is held, or is not; 0.5 <= level < 1.
    most_windows : int
        Of a rate that is not clear after the first one; >= 1.
    checks : int
        Further windows in which the found rate must be held, each by itself; >= 0.
    start_per_s : float or None
        Rate to begin with; None: what one user gets.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    target: LatencyTarget
    window_ns: int = 0
    warmup_ns: int = 1_000_000_000
    resolution: float = 0.05
    level: float = 0.95
    most_windows: int = 4
    checks: int = 5
    start_per_s: float | None = None

    def __post_init__(self) -> None:
        least_ns = _TARGETS_PER_WINDOW * self.target.target_ns
        if 0 < self.window_ns < least_ns:
            raise ValueError(
                f"a window of {self.window_ns / 1e9:g} s is too short for a target of"
                f" {self.target.target_ns / 1e9:g} s: at least {least_ns / 1e9:g} s"
            )
        if not 0.001 <= self.resolution <= 1:
            raise ValueError(f"resolution must be 0.001 to 1, got {self.resolution}")
        if not 0.5 <= self.level < 1:
            raise ValueError(f"confidence must be 0.5 to less than 1, got {self.level}")
        if self.most_windows < 1 or self.checks < 0:
            raise ValueError("there must be at least one window, and no fewer than 0 checks")
        if self.start_per_s is not None and not 0 < self.start_per_s < float("inf"):
            raise ValueError(f"the rate to start with must be > 0, got {self.start_per_s}")

    @property
    def length_ns(self) -> int:
        """Of a window."""
        usual_ns = max(_WINDOW_S * _NS_PER_S, _TARGETS_PER_WINDOW * self.target.target_ns)
        return self.window_ns or usual_ns

    @property
    def least_queries(self) -> int:
        """Of a window: so many that without a miss it is clear that the target is kept."""
        return round(_EXPECTED / self.target.allowed)
