"""Queries that may wait for more than one turn: how full turns may be, how many are late.

References
----------
Kingman, "Inequalities in the theory of queues", JRSS B 32, 1970: of a queue that grows by ``A``
and shrinks by ``b`` a turn, the backlog ``N`` has ``P(N > x) <= exp(-z x)`` where
``E exp(z (A - b)) = 1``. Of Poisson ``A`` of mean ``u b`` that is ``u (e^z - 1) = z``.
"""

from __future__ import annotations

import numpy as np

from surplus.cluster.queueing.overflow import Floats

_EXPONENTS = np.geomspace(1e-5, 60.0, 8192)
_USED = _EXPONENTS / np.expm1(_EXPONENTS)


def fullest_with_backlog(spare: Floats, late: float) -> Floats:
    """Part of the turns that arrivals may fill.

    Parameters
    ----------
    spare : array of float
        Backlog in queries at which one is late; 0 or less for none.
    late : float
        Part of the queries that may be late.
    """
    exponent = np.log(1.0 / late) / np.maximum(spare, 1e-9)
    exponent = np.minimum(exponent, 600.0)
    return np.where(spare > 0, exponent / np.expm1(exponent), 0.0)


def late_by_backlog(used: Floats, spare: Floats) -> Floats:
    """Part of the queries that are late at most, of turns that are so full; 1 if all may be."""
    exponent = np.interp(used, _USED[::-1], _EXPONENTS[::-1], right=0.0)
    return np.exp(-exponent * np.maximum(spare, 0.0))
