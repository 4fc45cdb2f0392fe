"""The sorts of strips that models share: sizes, and periods from a geometric grid.

Nexus and gpulet merge cycles of any length, and look at every member again whenever one joins. On
a grid of periods what a model takes of a strip depends on nobody else in it, so that a strip is
full at a sum of 1, and a search over all strips of a cluster is one comparison of arrays.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from surplus.cluster.packing.time_table import SHARES
from surplus.colocation.frame.clock import NS_PER_MS

PERIODS_NS = np.round(NS_PER_MS * sqrt(2.0) ** np.arange(0, 26)).astype(np.int64)
"""From 1 ms to 5.8 s."""

CYCLES = len(SHARES) * len(PERIODS_NS)
"""Classes below it are cyclic; as many that are not follow. Within both, by share, then period."""

CLASSES = 2 * CYCLES

SHARE_OF = np.tile(np.repeat(SHARES, len(PERIODS_NS)), 2)
"""Percent, by class."""

_PLACE = {int(period_ns): k for k, period_ns in enumerate(PERIODS_NS)}


def period_of(sort: int) -> int:
    """Nanoseconds."""
    return int(PERIODS_NS[sort % len(PERIODS_NS)])


def is_cyclic(sort: int) -> bool:
    """Whether replicas have turns in every period."""
    return sort < CYCLES


def class_of(share_percent: int, period_ns: int, cyclic: bool) -> int | None:
    """The class of such strips; None if their shares or periods are not of the grid."""
    place = _PLACE.get(period_ns)
    if place is None or share_percent % 10:
        return None
    sort = (share_percent // 10 - 1) * len(PERIODS_NS) + place
    return sort if cyclic else CYCLES + sort
