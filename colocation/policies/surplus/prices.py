"""What a device's time is worth: the dual of the linear program that fills a horizon.

Over a horizon of ``H`` there are ``n_i`` queries of each service, those that wait and those that
are expected, each of which holds at least ``w_i`` percent times ns of a device; there are ``C``
of them. Which fractions ``x_i`` are to be served:

    maximise sum v_i n_i x_i   such that   sum n_i w_i x_i <= C,   0 <= x_i <= 1.

It has one constraint beside the bounds, so its dual is one price ``p`` and its optimum is found by
sorting (Dantzig 1957): by value over work, down to the service at which ``C`` is spent, whose ratio
is the price. A query is worth serving if ``v_i > p w_i``. For any ``p >= 0`` the dual value
``p C + sum n_i max(0, v_i - p w_i)`` bounds what any policy gets from above, whose queries hold at
least ``w_i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surplus.colocation.frame.state import Waiting


class Price(NamedTuple):
    """The optimum.

    Parameters
    ----------
    per_work : float
        Value of a percent times ns; 0 where all can be served.
    most : float
        Value of the optimum, which is that of the dual: no policy gets more.
    """

    per_work: float
    most: float


def price_of(
    counts: Sequence[float], works: Sequence[float], values: Sequence[float], capacity: float
) -> Price:
    """Solve it.

    Parameters
    ----------
    counts, works, values : sequence of float
        By service: queries, percent times ns of one, value of one.
    capacity : float
        Percent times ns of all devices.
    """
    order = sorted(range(len(counts)), key=lambda k: works[k] / values[k])
    left, total = capacity, 0.0
    for k in order:
        need = counts[k] * works[k]
        if need > left:
            per_work = values[k] / works[k]
            return Price(per_work, total + left * per_work)
        left -= need
        total += counts[k] * values[k]
    return Price(0.0, total)


def price_of_waiting(
    waiting: Sequence[Waiting],
    rates_per_s: Sequence[float],
    works: Sequence[float],
    values: Sequence[float],
    horizon_s: float,
    capacity: float,
) -> tuple[float, float]:
    """``price_of`` those that wait and those that will come; ``core/prices`` is its twin."""
    pairs = zip(waiting, rates_per_s, strict=True)
    counts = [len(queue) + rate * horizon_s for queue, rate in pairs]
    return price_of(counts, works, values, capacity)


def dual_value(
    per_work: float,
    counts: Sequence[float],
    works: Sequence[float],
    values: Sequence[float],
    capacity: float,
) -> float:
    """What no policy exceeds, by any price >= 0; least at the optimum's."""
    rests = (n * max(0.0, v - per_work * w) for n, w, v in zip(counts, works, values, strict=True))
    return per_work * capacity + sum(rests)
