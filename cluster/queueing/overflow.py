"""Poisson arrivals that find no place in the next turn.

References
----------
A turn of ``b`` queries every ``D``, and arrivals of rate ``r``: if what the next turn has no place
for is given up, each turn begins with ``A`` queries, Poisson of mean ``r D``, and ``E[(A - b)+]``
of them are late. Turns that end early come earlier, so that ``D`` is the worst.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_HALVINGS = 40


def mean_overflow(mean: Floats, places: Ints) -> Floats:
    """``E[(A - places)+]`` of Poisson numbers ``A``; both of one shape, places >= 1.

    Takes as many steps as there are places at most.
    """
    term = np.exp(-mean)
    free = places.astype(np.float64) * term
    for count in range(1, int(places.max(initial=1))):
        term = term * mean / count
        free = free + np.maximum(places - count, 0) * term
    overflow: Floats = np.maximum(mean - places + free, 0.0)
    return overflow


@cache
def fullest_turns(most: int, late: float) -> Floats:
    """By places, from 0: the part of them that arrivals may fill on the mean.

    Parameters
    ----------
    most : int
        Places up to which it is told; >= 1.
    late : float
        Part of the arrivals that may overflow; > 0 and < 1.

    Returns
    -------
    array of float, (most + 1,)
        Mean arrivals a turn over places; 0 for no place.
    """
    places = np.arange(1, most + 1)
    low, high = np.zeros(most), places / (1.0 - late)
    for _ in range(_HALVINGS):
        mean = (low + high) / 2
        good = mean_overflow(mean, places) <= late * mean
        low, high = np.where(good, mean, low), np.where(good, high, mean)
    return np.concatenate(([0.0], low / places))
