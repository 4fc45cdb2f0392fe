"""What turns at a ladder of fixed rates say of ways to serve a model: the rate that each holds.

A way holds a rate if, at the median over the rounds, at least 99 % of the queries are answered
within the target; its capacity is the greatest rate that it holds. In a round in which a way was
not asked at a rate any more, since it had fallen below, nothing counts as answered in time.

References
----------
MLPerf Inference rules, "Scenarios": of the server scenario, the result is the greatest Poisson rate
at which 99 % keep to the latency constraint. There one run of 600 s must be valid; here it is the
median of short turns that contenders take side by side, so that a stall of the machine, which
lasts longer than the target, costs whom it meets a turn and not its result.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench.models.batching_servers import AS_THEY_COME, DELAYED, OFF, TRITON

HELD_SHARE = 0.99
_NONE = ""
"""In a cell of which there is no figure."""


class ServedTurn(NamedTuple):
    """A way, asked at a rate for a couple of seconds.

    Parameters
    ----------
    way : str
    rate_per_s : float
    round_number : int
        All ways get the same arrivals in a round.
    queries, late : int
        All that were measured, and those that failed or took longer than the target.
    p99_ms : float
        Of those that succeeded; nan if none did.
    rows : float
        Of a call of the model, on average; nan where the server does not tell.
    stolen : float
        Share of the cores' time that the host and other processes took.
    attempts : int
        1, and one more for each time that they took too much.
    """

    way: str
    rate_per_s: float
    round_number: int
    queries: int
    late: int
    p99_ms: float
    rows: float
    stolen: float
    attempts: int

    @property
    def in_time(self) -> float:
        """Share of the queries; of none, all are in time."""
        return 1 - self.late / self.queries if self.queries else 1.0


Turns = Sequence[ServedTurn]


def ways_of(turns: Turns) -> list[str]:
    """In the order in which they were asked first."""
    return list(dict.fromkeys(turn.way for turn in turns))


def in_time(turns: Turns, way: str, rate_per_s: float) -> float:
    """Share of the queries at a rate: the median over all rounds."""
    shares = {
        turn.round_number: turn.in_time
        for turn in turns
        if (turn.way, turn.rate_per_s) == (way, rate_per_s)
    }
    rounds = {turn.round_number for turn in turns}
    return statistics.median(shares.get(number, 0.0) for number in rounds)


def held_per_s(turns: Turns, way: str) -> float:
    """The greatest rate that a way holds; 0 if it holds none that it was asked at."""
    rates = {turn.rate_per_s for turn in turns if turn.way == way}
    return max((rate for rate in rates if in_time(turns, way, rate) >= HELD_SHARE), default=0.0)


def lost(turns: Turns, way: str, rate_per_s: float) -> float:
    """Late queries above those that the same arrivals have one by one; the median over the rounds.

    A way that was not asked in a round, since it had fallen at lower rates, is late with all.
    """
    found = {(t.way, t.round_number): t.late for t in turns if t.rate_per_s == rate_per_s}
    alone = [t for t in turns if (t.way, t.rate_per_s) == (OFF, rate_per_s)]
    late = [found.get((way, t.round_number), t.queries) - t.late for t in alone]
    return statistics.median(late) if late else math.nan


def capacity_row(model: str, target_ms: float, turns: Turns) -> dict[str, Any]:
    """What each way holds, and what becomes of the queries at the rate that is held one by one."""
    ways = ways_of(turns)
    held = {way: held_per_s(turns, way) for way in ways}
    at = [turn for turn in turns if turn.rate_per_s == held[OFF]]
    return {
        "model": model,
        "target ms": target_ms,
        **{f"{way} /s": rate for way, rate in held.items()},
        "a delay over one by one": _ratio(held[DELAYED], held[OFF]),
        "as they come over one by one": _ratio(held[AS_THEY_COME], held[OFF]),
        "a delay over Triton": _ratio(held[DELAYED], held.get(TRITON, 0.0)),
        "as they come over Triton": _ratio(held[AS_THEY_COME], held.get(TRITON, 0.0)),
        "queries at one by one's rate": _median(t.queries for t in at if t.way == OFF),
        **{f"{way} late": _median(t.late for t in at if t.way == way) for way in ways},
        **{f"{way} lost": lost(turns, way, held[OFF]) for way in ways if way != OFF},
        **{f"{way} rows a call": _median(t.rows for t in at if t.way == way) for way in ways},
        "turns": len(turns),
        "turns again": sum(turn.attempts - 1 for turn in turns),
    }


def rate_rows(model: str, turns: Turns) -> list[dict[str, Any]]:
    """A row a rate: medians over the rounds, for ways that most rounds came to ask."""
    least = (len({turn.round_number for turn in turns}) + 1) // 2
    rows = []
    for rate in sorted({turn.rate_per_s for turn in turns}):
        row: dict[str, Any] = {"model": model, "rate /s": rate}
        for way in ways_of(turns):
            own = [turn for turn in turns if (turn.way, turn.rate_per_s) == (way, rate)]
            is_shown = len(own) >= least
            row[f"{way} in time %"] = 100 * in_time(turns, way, rate) if is_shown else _NONE
            row[f"{way} p99 ms"] = _median(turn.p99_ms for turn in own) if is_shown else _NONE
        rows.append(row)
    return rows


def _ratio(rate_per_s: float, other_per_s: float) -> float:
    """Nan where the other holds none, or was not asked."""
    return rate_per_s / other_per_s if other_per_s else math.nan


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.median(found) if found else math.nan
