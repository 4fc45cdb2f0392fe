"""How a plan is judged again while it serves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JudgeParams:
    """When a plan is judged again.

    Parameters
    ----------
    apart : float
        Where queries take so many times as long as when it was judged, or as short.
    quieter : float
        Where so much less of the cores is taken.
    opening_ns : int
        What opening the runner-up's sessions is taken to cost before it was done.
    patience_ns, most_patience_ns : int
        After trials that changed nothing the next ones wait; each time twice as long.
    look : int
        Queries are looked at, so many at a time.
    look_every_ns : int
        From one look to the next.
    sparse : float
        Where queries take less of the time than that, looks are ``times_rarer``: to wake a thread
        for each would cost more than a hundredth of what such queries cost. So they are where
        queries nearly always overlap, which a look makes slower.
    times_rarer : int
        By how much.
    longest_ns : int
        A trial that is not decided by then, for want of queries, is given up.
    """

    apart: float = 1.2
    quieter: float = 0.15
    opening_ns: int = 20_000_000
    patience_ns: int = 5_000_000_000
    most_patience_ns: int = 600_000_000_000
    look: int = 8
    look_every_ns: int = 1_000_000_000
    sparse: float = 0.02
    times_rarer: int = 10
    longest_ns: int = 600_000_000_000
