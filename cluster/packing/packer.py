"""Places rates of models in strips: strips of their own for what fills them, shared ones else.

A strip is chosen by what it costs: the part of it that a model takes, at the price of its share of
a node, and of a strip that is opened also a part of what is left free in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from surplus.cluster.frame.node_kind import NodeKind
from surplus.cluster.packing.offers import Offers, kinds_of_classes, unit_costs
from surplus.cluster.packing.racks import Racks, Seat
from surplus.cluster.packing.strip_classes import CLASSES, SHARE_OF, is_cyclic, period_of
from surplus.cluster.queueing.overflow import Floats

_NOTHING = 1e-9
"""Part of a rate that rounding may leave."""

_UNSOLD = 0.3
"""Part of the price of what is left free in a new strip that who opens it pays."""

_DEARER = 2.0
"""How many times as dear a strip on a device in use may be as one on a new node."""

Reach = Literal["use", "up", "all"]


class Packer:
    """Places models on racks.

    Parameters
    ----------
    racks : Racks
    offers : sequence of Offers
        By model.
    kinds : sequence of NodeKind
    as_they_come : bool
        Whether strips without cycles may be opened.
    """

    def __init__(
        self,
        racks: Racks,
        offers: Sequence[Offers],
        kinds: Sequence[NodeKind],
        as_they_come: bool = True,
    ) -> None:
        self.racks = racks
        self._offers = offers
        self._costs = unit_costs(kinds)
        self._kind_of = kinds_of_classes(kinds)
        self._share_of = np.tile(SHARE_OF, len(kinds))
        self._kinds = range(len(kinds))
        allowed = np.array([is_cyclic(k) or as_they_come for k in range(CLASSES)])
        self._allowed = np.tile(allowed, len(kinds))

    def place(self, model: int, rate_per_s: float, reach: Reach = "all") -> float:
        """Place a rate; return what is left of it.

        Parameters
        ----------
        reach : str
            Nodes in ``"use"``, those and others that are ``"up"``, or ``"all"``.
        """
        left_per_s, least = rate_per_s, rate_per_s * _NOTHING
        while left_per_s > least:
            served = self._step(model, left_per_s, reach)
            if not served:
                return left_per_s
            left_per_s -= served
        return 0.0

    def place_own(self, model: int, rate_per_s: float, reach: Reach = "all") -> float:
        """Open a strip that the model has for itself; return the rate that it takes, or 0."""
        for own in self._offers[model].own:
            bytes_ = self._bytes(model)
            device = self.racks.device_in_use(own.kind, own.share_percent, bytes_)
            if device < 0:
                device = self._unused(own.kind, reach)
            if device >= 0:
                served = min(rate_per_s, own.rate_per_s)
                strip = self.racks.add(device, own.share_percent, own.took_ns, True, -1)
                self.racks.seat(strip, model, Seat(own.batch, served, 1.0, self._bytes(model)))
                return served
        return 0.0

    def copy_elsewhere(self, strip: int, model: int) -> int:
        """Put a replica like one that is there on another node in use; the strip, -1 if none."""
        racks, seat = self.racks, self.racks.seats(strip)[model]
        if racks.sort(strip) >= 0:
            return self._share(model, seat.rate_per_s, self._loads(model, seat.rate_per_s), "use")
        old = racks.strip(strip)
        kind = int(racks.kind_of(old.node))
        device = racks.device_in_use(kind, old.share_percent, seat.memory_bytes)
        if device < 0:
            return -1
        found = racks.add(device, old.share_percent, old.period_ns, True, -1)
        racks.seat(found, model, seat)
        return found

    def seat_at(self, model: int, rate_per_s: float, sort: int, load: float) -> Seat:
        """A replica for a rate in a shared strip."""
        batch = self._offers[model].batch(rate_per_s, sort)
        return Seat(batch, rate_per_s, load, self._bytes(model))

    def _step(self, model: int, rate_per_s: float, reach: Reach) -> float:
        """Place some of a rate; return how much."""
        own = self._offers[model].own
        if own and rate_per_s >= own[0].rate_per_s:
            return self.place_own(model, rate_per_s, reach)
        loads = self._loads(model, rate_per_s)
        shared = float(np.min(self._costs * loads, initial=np.inf))
        if own and own[0].cost * own[0].rate_per_s <= shared:
            return self.place_own(model, rate_per_s, reach)
        if self._share(model, rate_per_s, loads, reach) >= 0:
            return rate_per_s
        return self.place_own(model, rate_per_s, reach)

    def _loads(self, model: int, rate_per_s: float) -> Floats:
        return np.where(self._allowed, self._offers[model].loads(rate_per_s), np.inf)

    def _share(self, model: int, rate_per_s: float, loads: Floats, reach: Reach) -> int:
        """Join a strip, or open one that others may join; the strip, -1 if there is no place."""
        bytes_ = self._bytes(model)
        strip = self.racks.joinable(loads, self._costs, bytes_, model)
        if strip < 0:
            strip = self._open(model, loads, reach)
        if strip >= 0:
            sort = self.racks.sort(strip)
            seat = self.seat_at(model, rate_per_s, sort, float(loads[sort]))
            self.racks.seat(strip, model, seat)
        return strip

    def _open(self, model: int, loads: Floats, reach: Reach) -> int:
        bytes_ = self._bytes(model)
        paid = np.minimum(loads, 1.0) * (1.0 - _UNSOLD) + _UNSOLD
        cost = np.where(loads <= 1.0, self._costs * paid, np.inf)
        free = np.array([self.racks.free_percent(kind, bytes_) for kind in self._kinds])
        here = np.where(self._share_of <= free[self._kind_of], cost, np.inf)
        fresh = [self._unused(kind, reach) for kind in self._kinds]
        there = np.where(np.array(fresh)[self._kind_of] >= 0, cost, np.inf)
        sort = int(np.argmin(here))
        if not here[sort] <= _DEARER * there.min():
            sort = int(np.argmin(there))
            return self._add(fresh[self._kind_of[sort]], sort) if np.isfinite(there[sort]) else -1
        if not np.isfinite(here[sort]):
            return -1
        share = int(self._share_of[sort])
        return self._add(self.racks.device_in_use(int(self._kind_of[sort]), share, bytes_), sort)

    def _add(self, device: int, sort: int) -> int:
        own = sort % CLASSES
        share = int(SHARE_OF[own])
        return self.racks.add(device, share, period_of(own), is_cyclic(own), sort)

    def _unused(self, kind: int, reach: Reach) -> int:
        """A device of a node that nobody is on; -1 if there is none within reach."""
        return -1 if reach == "use" else self.racks.unused_device(kind, reach == "up")

    def _bytes(self, model: int) -> int:
        return self._offers[model].model.service.memory_bytes
