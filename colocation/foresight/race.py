"""Ways of serving run on the same imagined loads, fewer of them on longer ones.

References
----------
Jamieson, Talwalkar: Non-stochastic best arm identification and hyperparameter optimization,
AISTATS 2016 (successive halving).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

from surplus.colocation.foresight.imagined import LEAST_TARGETS

Trial = Callable[[str, int], float | None]
"""Way, heat -> share of the queries in time; None if the way cannot serve."""

_PERFECT = 0.9995
_UNALIKE = 2
"""Of the ways that are unlike the rest so many go on to every heat."""


@dataclass(frozen=True)
class Heat:
    """A part of a race.

    Parameters
    ----------
    kept : int
        Ways that go on to it, at most.
    queries : int
    burst : float
        See ``imagined_load``.
    neighbours : float
        See ``believed_interference``.
    targets : int
        See ``imagined_load``.
    """

    kept: int
    queries: int
    burst: float
    neighbours: float = 1.0
    targets: int = LEAST_TARGETS


def winner(
    ways: Sequence[str],
    trial: Trial,
    heats: Sequence[Heat],
    lead: float,
    unalike: Collection[str] = (),
) -> str:
    """The way with most queries in time over the heats that it ran; the earlier one of equals.

    Parameters
    ----------
    ways : sequence of str
        In order of preference.
    lead : float
        What a later way must have more than an earlier one, as a share of the queries.
    unalike : collection of str
        Ways of which the best two go on to every heat, whatever their places are. Ways that are
        alike do well in the same heats: a heat that suits them would leave no others.

    Returns
    -------
    str
        The first way that is all but perfect in the first heat runs all the others at once, and
        wins if it is so in each of them: where all is easy a race is short.

    Raises
    ------
    ValueError
        If no way can serve.
    """
    trial = cache(trial)
    left = list(ways)
    scores = dict.fromkeys(ways, 0.0)
    easy = True
    for number, heat in enumerate(heats):
        if number and len(left) == 1:
            break
        able = []
        for name in _going_on(left, heat.kept, unalike):
            found = trial(name, number)
            if found is None:
                continue
            able.append(name)
            scores[name] += found * heat.queries
            if not number and easy and found >= _PERFECT:
                easy = all((trial(name, k) or 0.0) >= _PERFECT for k in range(1, len(heats)))
                if easy:
                    return name
        left = sorted(able, key=lambda name: (-scores[name], ways.index(name)))
    if not left:
        raise ValueError("no way of serving can serve these services")
    total = sum(heat.queries for heat in heats)
    close = [name for name in left if scores[name] >= scores[left[0]] - lead * total]
    return min(close, key=ways.index)


def _going_on(ranked: Sequence[str], kept: int, unalike: Collection[str]) -> list[str]:
    spared = [name for name in ranked if name in unalike][:_UNALIKE]
    return [name for place, name in enumerate(ranked) if place < kept or name in spared]
