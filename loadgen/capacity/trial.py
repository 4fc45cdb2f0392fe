"""One rate, asked for until it is clear whether it is held."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from surplus.loadgen.capacity.misses import Misses
from surplus.loadgen.stats import LoadSummary


class RateVerdict(Enum):
    """Whether the share of late queries is below what is allowed."""

    HELD = "held"
    MISSED = "missed"
    UNCLEAR = "unclear"
    """After all windows; counts as missed, so that what is found holds."""
    GENERATOR = "the generator was the limit"


@dataclass(frozen=True)
class Window:
    """One run at a rate.

    Parameters
    ----------
    misses : Misses
    summary : LoadSummary
    """

    misses: Misses
    summary: LoadSummary

    @property
    def is_of_server(self) -> bool:
        """Whether it says something of the server, rather than of who asked."""
        generator = self.summary.generator
        return generator is None or not generator.is_bottleneck


@dataclass(frozen=True)
class RateTrial:
    """The windows of one rate, and what they come to.

    Parameters
    ----------
    rate_per_s : float
    windows : tuple of Window
        At least one.
    misses : Misses
        Of all of them.
    interval : (float, float)
        Of the share of misses.
    verdict : RateVerdict
    is_check : bool
        Whether it repeats a rate that was found before.
    """

    rate_per_s: float
    windows: tuple[Window, ...]
    misses: Misses
    interval: tuple[float, float]
    verdict: RateVerdict
    is_check: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; latencies are those of the last window."""
        summary = self.windows[-1].summary
        return {
            "rate_per_s": self.rate_per_s,
            "verdict": self.verdict.value,
            "is_check": self.is_check,
            "windows": len(self.windows),
            "queries": self.misses.queries,
            "missed": self.misses.missed,
            "design_effect": self.misses.design_effect,
            "missed_share": self.misses.share,
            "missed_interval": list(self.interval),
            "summary": summary.to_dict(),
        }
