"""Changes a model's replicas to another rate, with few that have to be loaded."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.cluster.packing.offers import Offers
from surplus.cluster.packing.packer import Packer

Where = list[int]
"""Strips that a model is in."""

_NOTHING = 1e-9


class Adjusting:
    """Shrinks and grows what is there.

    Parameters
    ----------
    packer : Packer
    offers : sequence of Offers
        By model.
    """

    def __init__(self, packer: Packer, offers: Sequence[Offers]) -> None:
        self._packer = packer
        self._racks = packer.racks
        self._offers = offers
        self._where: list[Where] = [[] for _ in offers]
        for strip in self._racks.strips():
            for model in self._racks.seats(strip):
                self._where[model].append(strip)

    def held_per_s(self, model: int) -> float:
        """Rate that a model's replicas are meant for."""
        return sum(self._rate(strip, model) for strip in self._where[model])

    def shrink(self, model: int, rate_per_s: float) -> None:
        """Give up replicas beyond a rate, those on the emptiest nodes first, and narrow one."""
        excess = self.held_per_s(model) - rate_per_s
        for strip in sorted(self._where[model], key=lambda s: self._emptiness(s, model)):
            own = self._rate(strip, model)
            if own <= excess + _NOTHING * own or rate_per_s <= 0:
                self._racks.unseat(strip, model)
                self._where[model].remove(strip)
                excess -= own
        if excess > _NOTHING * rate_per_s:
            strip = self._where[model][0]
            less = self._rate(strip, model) - excess
            if not self._fit(strip, model, less):
                seat = self._racks.seats(strip)[model]
                self._racks.seat(strip, model, seat._replace(rate_per_s=less))

    def grow(self, model: int, rate_per_s: float) -> float:
        """Widen replicas where they are, then move the one that shares or add some.

        Returns
        -------
        float
            Rate that no place was found for.
        """
        lacking = rate_per_s - self.held_per_s(model)
        for strip in self._where[model]:
            if self._racks.sort(strip) < 0 and lacking > 0:
                lacking -= self._fill_own(strip, model, lacking)
        for strip in self._where[model]:
            if self._racks.sort(strip) >= 0 and lacking > _NOTHING * rate_per_s:
                wanted = self._rate(strip, model) + lacking
                if self._fit(strip, model, wanted):
                    return 0.0
        if lacking <= _NOTHING * rate_per_s:
            return 0.0
        shared = [strip for strip in self._where[model] if self._racks.sort(strip) >= 0]
        if shared:
            lacking += self._racks.unseat(shared[0], model).rate_per_s
        return self._packer.place(model, lacking)

    def _fit(self, strip: int, model: int, rate_per_s: float) -> bool:
        """Give a replica another rate, if its strip has room for that."""
        racks, sort = self._racks, self._racks.sort(strip)
        seat = racks.seats(strip)[model]
        if sort < 0:
            racks.seat(strip, model, seat._replace(rate_per_s=rate_per_s))
            return True
        load = float(self._offers[model].loads(rate_per_s)[sort])
        if load - seat.load > racks.room(strip):
            return False
        racks.seat(strip, model, self._packer.seat_at(model, rate_per_s, sort, load))
        return True

    def _fill_own(self, strip: int, model: int, lacking: float) -> float:
        """Use what a strip of its own can hold; return how much more that is."""
        seat, old = self._racks.seats(strip)[model], self._racks.strip(strip)
        kind = self._racks.kind_of(old.node)
        as_planned = (kind, old.share_percent, seat.batch, old.period_ns)
        most = 0.0
        for own in self._offers[model].own:
            if (own.kind, own.share_percent, own.batch, own.took_ns) == as_planned:
                most = own.rate_per_s
        more = min(lacking, max(0.0, most - seat.rate_per_s))
        self._racks.seat(strip, model, seat._replace(rate_per_s=seat.rate_per_s + more))
        return more

    def _rate(self, strip: int, model: int) -> float:
        return self._racks.seats(strip)[model].rate_per_s

    def _emptiness(self, strip: int, model: int) -> tuple[int, float]:
        node = self._racks.strip(strip).node
        return self._racks.seats_on(node), self._rate(strip, model)
