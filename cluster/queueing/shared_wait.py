"""Queries of several models that are taken as they come: how long one waits for the others.

References
----------
Cramér and Lundberg's bound, for queues Kingman's (1970): where customers of service times ``S_j``
come at Poisson rates ``r_j``, ``P(wait > t) <= exp(-z t)`` where ``sum r_j (e^(z S_j) - 1) = z``.
With ``z`` fixed by what a strip promises, ``r_j (e^(z S_j) - 1) / z`` is what model ``j`` takes of
it, and a strip is full at a sum of 1: Kelly, "Effective bandwidths at multi-class queues",
Queueing Systems 9, 1991. Batches only shorten the waiting and are left out.
"""

from __future__ import annotations

import numpy as np

from surplus.cluster.queueing.overflow import Floats, Ints

_HALVINGS = 24
_MOST_EXPONENT = 40.0


def effective_load(took_ns: Floats, wait_ns: Floats, late: float) -> Floats:
    """Nanoseconds of a strip that a query takes, if waits above ``wait_ns`` are to be rare.

    Parameters
    ----------
    took_ns, wait_ns : array of float
        > 0; broadcast against one another.
    late : float
        Part of the queries that may wait longer.
    """
    exponent = np.log(1.0 / late) / wait_ns
    with np.errstate(over="ignore"):
        load: Floats = np.expm1(exponent * took_ns) / exponent
    return load


def decay_per_ns(strip: Ints, rate_per_ns: Floats, took_ns: Floats, strips: int) -> Floats:
    """The ``z`` of each strip; 0 where queries come faster than they are answered.

    Parameters
    ----------
    strip : array of int
        By replica, below ``strips``.
    rate_per_ns, took_ns : array of float
        By replica; the time of one query alone.
    """
    longest_ns = np.full(strips, 1e-3)
    np.maximum.at(longest_ns, strip, took_ns)
    low, high = np.zeros(strips), _MOST_EXPONENT / longest_ns
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        grown = rate_per_ns * np.expm1(middle[strip] * took_ns)
        good = np.bincount(strip, grown, strips) <= middle
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low
