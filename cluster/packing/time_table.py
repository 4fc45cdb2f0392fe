"""Profiled times of a model on a kind of node, by share and batch, ready to be searched."""

from __future__ import annotations

from math import inf

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.queueing.overflow import Floats

SHARES = np.arange(10, 101, 10)
"""Sizes of strips, in percent."""

BATCHES = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128])
"""Queries of a turn that are looked at."""


def time_table(model: ClusterModel, kind: str) -> Floats:
    """Nanoseconds, (shares, batches); infinite where the profile or the model ends.

    Times are mean plus deviation, as in Nexus, and never fall with the batch.
    """
    rows = [[_took_ns(model, kind, int(b), int(s)) for b in BATCHES] for s in SHARES]
    return np.maximum.accumulate(np.array(rows), axis=1)


def _took_ns(model: ClusterModel, kind: str, queries: int, share_percent: int) -> float:
    if queries > model.most_queries or kind not in model.profiles:
        return inf
    try:
        took_ns = model.latency_ns(kind, queries, share_percent)
    except ValueError:
        return inf
    spread = model.profiles[kind].spread(queries * model.items, model.sequence)
    return took_ns * (1.0 + spread)
