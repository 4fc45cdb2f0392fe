"""How a plan was found: what each round tried and gained. Kept beside the plan."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from surplus.engine.profiling.intervals import Interval, Verdict


@dataclass(frozen=True)
class Tried:
    """One plan in one round.

    Parameters
    ----------
    name : str
        Which cut, or which move from which cut.
    segments, wide : int
        How many there are, and how many of them have more than one lane.
    predicted_ns, measured_ns : int
        Time of a query: predicted before it ran in this round, and the median of the round.
    ratio : Interval
        Its time over that of the plan to beat.
    verdict : Verdict
        Faster, slower or open against that.
    """

    name: str
    segments: int
    wide: int
    predicted_ns: int
    measured_ns: int
    ratio: Interval
    verdict: Verdict

    @property
    def error(self) -> float:
        """How far off the prediction was, relative to what was measured."""
        return abs(self.predicted_ns / max(1, self.measured_ns) - 1)


@dataclass(frozen=True)
class Round:
    """Everything that ran against each other, and who was best."""

    tried: tuple[Tried, ...]
    best: str

    @property
    def median_error(self) -> float:
        """Median of the predictions' errors."""
        return statistics.median(row.error for row in self.tried)


@dataclass(frozen=True)
class TuningReport:
    """A whole tuning.

    Parameters
    ----------
    chosen : str
        The plan that was kept.
    whole : str or None
        The best one-segment plan, where one device can run everything.
    against_whole : Interval or None
        The chosen plan's time over that plan's in rounds of their own; None if it is that plan.
    stopped : str
        Why there was no other round.
    time_s, budget_s : float
        What it took, and what was allowed.
    """

    rounds: tuple[Round, ...]
    chosen: str
    whole: str | None
    against_whole: Interval | None
    stopped: str
    time_s: float
    budget_s: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON wants it."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A line of a table for each plan of each round."""
        for number, played in enumerate(self.rounds, start=1):
            for row in played.tried:
                yield {
                    "round": number,
                    "plan": row.name,
                    "segments": f"{row.segments}, {row.wide} wide" if row.wide else row.segments,
                    "predicted ms": row.predicted_ns / 1e6,
                    "measured ms": row.measured_ns / 1e6,
                    "error": f"{100 * row.error:.1f} %",
                    "ratio": described(row.ratio),
                    "": _outcome(row, played.best),
                }


def _outcome(row: Tried, best: str) -> str:
    if row.name == best:
        return "best"
    return "to beat" if row.ratio.low == row.ratio.high == 1 else row.verdict.value


def described(ratio: Interval) -> str:
    """``0.912 (0.88-0.94)``: the median and its interval; 1 for a plan against itself."""
    if ratio.low == ratio.high == 1:
        return "1"
    return f"{ratio.median:.3f} ({ratio.low:.2f}-{ratio.high:.2f})"
