"""A lower bound on the cost of nodes, for a part of the queries in time.

A query that is in time is in a batch that takes no longer than its target, on some share of some
device: it holds that share for at least the batch's time over its queries. A device has all of its
time once. So the queries of a window need at least the sum of their least device times, at the
least price of a device and second; which queries are left out does not matter, as the dearest are.
Left out, so that the true optimum is above it: memory, loading, whole nodes, waiting, that queries
of a window come one by one, and that rates are not known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.node_kind import NodeKind
from surplus.cluster.queueing.overflow import Floats
from surplus.colocation.frame.clock import NS_PER_S

_PER_HOUR = 3600 * NS_PER_S


def least_price(model: ClusterModel, kinds: Sequence[NodeKind]) -> float:
    """Of a query in time, whatever the batch and share, of all whole numbers.

    Raises
    ------
    ValueError
        If it can be in time nowhere.
    """
    prices = [_price_on(model, kind) for kind in kinds if kind.name in model.profiles]
    if not prices or min(prices) == float("inf"):
        raise ValueError(f"model {model.name!r} is in time on no kind of node")
    return min(prices)


def least_prices(models: Sequence[ClusterModel], kinds: Sequence[NodeKind]) -> Floats:
    """Of every model; some milliseconds each."""
    return np.array([least_price(model, kinds) for model in models])


def least_cost(queries: Floats, prices: Floats, in_time: float) -> float:
    """What a day costs at least, in the unit of prices.

    Parameters
    ----------
    queries : array of float
        By window and model, or by model.
    prices : array of float
        Of a query of each model, as ``least_prices`` has them.
    in_time : float
        Part of all queries that has to be in time.
    """
    total = np.asarray(queries, np.float64).reshape(-1, len(prices)).sum(axis=0)
    spared = (1.0 - in_time) * float(total.sum())
    cost = 0.0
    for price, count in sorted(zip(prices.tolist(), total.tolist(), strict=True), reverse=True):
        left_out = min(spared, count)
        spared -= left_out
        cost += price * (count - left_out)
    return cost


def _price_on(model: ClusterModel, kind: NodeKind) -> float:
    least_ns = float("inf")
    for share in range(1, 101):
        for queries in range(1, model.most_queries + 1):
            try:
                took_ns = model.latency_ns(kind.name, queries, share)
            except ValueError:
                continue
            if took_ns <= model.service.slo_ns:
                least_ns = min(least_ns, took_ns * share / 100 / queries)
    return least_ns / _PER_HOUR * kind.price_per_hour / kind.devices
