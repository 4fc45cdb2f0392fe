"""What a model takes of strips of every class, and of a strip of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.node_kind import NodeKind
from surplus.cluster.packing.strip_classes import CLASSES, CYCLES, PERIODS_NS, SHARE_OF
from surplus.cluster.packing.time_table import BATCHES, SHARES
from surplus.cluster.queueing.backlog import fullest_with_backlog
from surplus.cluster.queueing.overflow import Floats, Ints, fullest_turns
from surplus.cluster.queueing.shared_wait import effective_load
from surplus.colocation.frame.clock import NS_PER_S

LEAST_PER_S = 1.0 / 60
"""What is served at least of a model that wakes."""

Sizes = Literal["all", "whole", "knee"]


class OwnStrip(NamedTuple):
    """A strip that a model has for itself, one batch after the other.

    ``cost`` is what a query a second costs: the larger of the parts of a device's power and
    memory, at its price.
    """

    kind: int
    share_percent: int
    batch: int
    rate_per_s: float
    took_ns: int
    cost: float


class Offers:
    """A model's loads; classes of the second kind of node follow those of the first, and so on.

    Parameters
    ----------
    model : ClusterModel
    kinds : sequence of NodeKind
    tables : sequence of array
        Its times, by kind: see ``time_table``.
    sizes : str
        Which strips it gets: ``"all"``, ``"whole"`` devices only, or only the ``"knee"``: the share
        of the greatest efficacy, throughput per latency and share (D-STACK, equation 9), of what
        is in time when the batch before it has just begun.

    Attributes
    ----------
    own : tuple of OwnStrip
        The best on each kind that has one, the cheapest first.
    least_shares : tuple of int
        Percent of a device, by kind, on which some queries can be in time; above 100 if on none.
    """

    def __init__(
        self,
        model: ClusterModel,
        kinds: Sequence[NodeKind],
        tables: Sequence[Floats],
        sizes: Sizes = "all",
    ) -> None:
        self.model = model
        self._slo_ns = float(model.service.slo_ns)
        self._late = 1.0 - model.in_time
        self._tables = [_of_sizes(sizes, table, self._slo_ns) for table in tables]
        self._most_per_s = np.stack([self._cycles(table) for table in self._tables])
        self._open = np.stack([self._as_they_come(table) for table in self._tables])
        own = [self._own(k, kind) for k, kind in enumerate(kinds)]
        good = self.loads(LEAST_PER_S).reshape(-1, CLASSES) <= 1.0
        self.least_shares = tuple(int(SHARE_OF[row].min(initial=101)) for row in good)
        self.own = tuple(sorted((o for o in own if o is not None), key=lambda o: o.cost))

    @property
    def fitting(self) -> tuple[int, ...]:
        """Kinds of nodes that it can be served on, the cheapest first."""
        return tuple(own.kind for own in self.own)

    def loads(self, rate_per_s: float) -> Floats:
        """Part of a strip that the rate takes, by class; infinite where it is not in time."""
        enough = self._most_per_s >= rate_per_s
        batch = enough.argmax(axis=-1)
        taken = np.stack(
            [np.take_along_axis(t, b, axis=1) for t, b in zip(self._tables, batch, strict=True)]
        )
        cyclic = np.where(enough.any(axis=-1), taken / PERIODS_NS, np.inf)
        both = np.stack([cyclic, rate_per_s * self._open], axis=1)
        result: Floats = both.reshape(-1)
        return result

    def batch(self, rate_per_s: float, sort: int) -> int:
        """Queries of a turn in a strip of a class that it has a load on."""
        kind, own = divmod(sort, CLASSES)
        if own >= CYCLES:
            return 1
        share, period = divmod(own, len(PERIODS_NS))
        return int(BATCHES[(self._most_per_s[kind, share, period] >= rate_per_s).argmax()])

    def load_of(self, sort: int, batch: int, rate_per_s: float) -> float:
        """Part of a strip that a replica takes as it is."""
        kind, own = divmod(sort, CLASSES)
        share, period = divmod(own % CYCLES, len(PERIODS_NS))
        if own >= CYCLES:
            return rate_per_s * float(self._open[kind, share, period])
        place = min(int(np.searchsorted(BATCHES, batch)), len(BATCHES) - 1)
        return float(self._tables[kind][share, place] / PERIODS_NS[period])

    def _cycles(self, table: Floats) -> Floats:
        """Queries a second that a turn of each batch holds, (shares, periods, batches)."""
        took_ns = table[:, None, :]
        most = self._turns(took_ns, PERIODS_NS[None, :, None].astype(np.float64))
        return most * (NS_PER_S / PERIODS_NS[None, :, None])

    def _turns(self, took_ns: Floats, period_ns: Floats) -> Floats:
        """Mean queries that may come in a period, by batch; 0 where even one is late."""
        turns = np.floor((self._slo_ns - np.minimum(took_ns, 1e18)) / period_ns)
        spare = (turns - 1) * BATCHES
        full = fullest_turns(int(BATCHES[-1]), self._late)[BATCHES]
        used = np.maximum(full, fullest_with_backlog(spare, self._late))
        return np.where((turns >= 1) & (took_ns <= period_ns), used * BATCHES, 0.0)

    def _as_they_come(self, table: Floats) -> Floats:
        """Part of a strip that a query a second takes, (shares, periods)."""
        took_ns = table[:, :1]
        wait_ns = PERIODS_NS[None, :].astype(np.float64)
        load = effective_load(np.minimum(took_ns, 1e12), wait_ns, self._late) / NS_PER_S
        return np.where(took_ns + wait_ns <= self._slo_ns, load, np.inf)

    def _own(self, kind: int, of: NodeKind) -> OwnStrip | None:
        """The cheapest strip of its own; of equals the smallest."""
        table = self._tables[kind]
        finite = np.where(np.isfinite(table), table, 1e18)
        rate_per_s = self._turns(finite, finite) * (NS_PER_S / finite)
        held = np.maximum(SHARES / 100, self.model.service.memory_bytes / of.memory_bytes)
        with np.errstate(divide="ignore"):
            cost = held[:, None] * of.price_per_hour / of.devices / rate_per_s
        share, batch = np.unravel_index(
            int(np.argmin(cost * (1 + 1e-9 * SHARES[:, None]))), cost.shape
        )
        if not rate_per_s[share, batch] > 0 or self.model.service.memory_bytes > of.memory_bytes:
            return None
        return OwnStrip(
            kind,
            int(SHARES[share]),
            int(BATCHES[batch]),
            float(rate_per_s[share, batch]),
            int(np.ceil(table[share, batch])),
            float(cost[share, batch]),
        )


def _of_sizes(sizes: Sizes, table: Floats, slo_ns: float) -> Floats:
    """Times at the shares that a model gets, infinite at all others."""
    if sizes == "all":
        return table
    if sizes == "whole":
        return np.where((SHARES == 100)[:, None], table, np.inf)
    finite = np.where(2 * table <= slo_ns, table, np.inf)
    efficacy = (BATCHES / np.square(finite) / SHARES[:, None]).max(axis=1)
    kept = np.arange(len(SHARES)) == int(np.argmax(efficacy))
    return np.where(kept[:, None], table, np.inf)


def unit_costs(kinds: Sequence[NodeKind]) -> Floats:
    """What a whole strip costs an hour, by class."""
    return np.concatenate([SHARE_OF / 100 * k.price_per_hour / k.devices for k in kinds])


def kinds_of_classes(kinds: Sequence[NodeKind]) -> Ints:
    """Index of the kind, by class."""
    return np.repeat(np.arange(len(kinds)), CLASSES)
