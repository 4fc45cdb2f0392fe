"""In which order servers are asked at which rates: one round up a ladder, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

FALLEN_SHARE = 0.9
"""Who keeps the target less often than that is well above what it holds."""

_FALLS = 2
"""One after another, since a disturbance looks like a fall."""

_MOST_RUNGS = 60


def rungs(lowest_per_s: float, step: float) -> Iterator[float]:
    """Rates a second, each so many times the one below."""
    return (lowest_per_s * step**rung for rung in range(_MOST_RUNGS))


def climb(
    ways: Sequence[str],
    rates_per_s: Iterator[float],
    ask: Callable[[str, float], float],
    first: int = 0,
) -> None:
    """Ask each way at one rate after the other, for as long as it has not fallen twice in a row.

    Parameters
    ----------
    ways : sequence of str
    rates_per_s : iterator of float
        Ascending.
    ask : callable
        A way at a rate: the share of its queries that were in time.
    first : int
        Which way begins at the lowest rate; the next one begins at the next.
    """
    falls = dict.fromkeys(ways, 0)
    for rung, rate_per_s in enumerate(rates_per_s, first):
        climbing = [way for way in ways if falls[way] < _FALLS]
        if not climbing:
            return
        for place in range(len(climbing)):
            way = climbing[(place + rung) % len(climbing)]
            falls[way] = falls[way] + 1 if ask(way, rate_per_s) < FALLEN_SHARE else 0
