"""Windows of a queue on places: for a price, and where a service gives many up on any free one."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.surplus.batch_times import BatchTimes
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.rooms import DeviceRoom, SharePlace
from surplus.colocation.policies.surplus.windows import LEAST_LOST, QueueWindow, Worth, best_window

_LEAST_GOOD = 0.3
"""Of what a window holds that its queries hold in a good batch, where a service regroups."""


class QueueWindows:
    """Finds the best window of a service's queue on a place, and the place.

    Parameters
    ----------
    params, values, times, ratios, market
        As of ``ColumnChoice``.
    """

    def __init__(
        self,
        params: PricedParams,
        values: Sequence[float],
        times: BatchTimes,
        ratios: TimeRatios,
        market: Market,
    ) -> None:
        self._skips = params.skip
        self._regroups_above = params.regroups_above()
        self._costs = params.share_costs()
        self._values = values
        self._times = times
        self._ratios = ratios
        self._market = market

    def pressed(self, service: int) -> bool:
        """Whether a service gives so many up that its batches are windows wherever there is room.

        Its first query has waited long and leaves time for a small batch only, which holds so much
        that the next ones wait long, too.
        """
        return self._market.given_up[service] > self._regroups_above

    def on(
        self, service: int, waiting: Waiting, place: SharePlace, now_ns: int
    ) -> QueueWindow | None:
        """A run of queries that is worth more than the first ones, if time has a price."""
        market, share = self._market, place.share_percent
        pressed = self.pressed(service)
        per_work = market.pressed_per_work(service) if pressed else market.price.per_work
        if not per_work or not self._skips:
            return None
        profit = market.profit(service, per_work)
        worth = Worth(self._values[service], profit, per_work * share)
        slowness = self._ratios.bound[service]
        most_items = max(place.batch, waiting.urgent.items)
        if waiting.alike:
            row = self._times.prefixes_ns(waiting, most_items, share)
            most = len(row)
            return best_window(waiting, lambda q: row[: len(q)], most, slowness, now_ns, worth)

        def times(queries: Sequence[Query]) -> Sequence[int]:
            return self._times.prefixes_of(queries, most_items, share)

        return best_window(waiting, times, most_items, slowness, now_ns, worth)

    def best_free(
        self, service: int, waiting: Waiting, room: DeviceRoom, free_percent: int, now_ns: int
    ) -> tuple[SharePlace, int, QueueWindow] | None:
        """Of the best windows on the places that are free the one that is worth most for its share.

        None if each holds far more than its queries do in a good batch, or there is none.
        """
        best: tuple[SharePlace, int, QueueWindow] | None = None
        most = 0.0
        for place in room.places[service]:
            share = place.share_percent
            partition = room.free_partition(place) if share <= free_percent else None
            window = None if partition is None else self.on(service, waiting, place, now_ns)
            if partition is None or window is None or self._holds_much(service, share, window):
                continue
            gain = window.size - LEAST_LOST * window.skipped
            value = gain / (self._costs[share] * window.took_ns)
            if best is None or value > most:
                best, most = (place, partition, window), value
        return best

    def _holds_much(self, service: int, share: int, window: QueueWindow) -> bool:
        took_ns = window.took_ns * self._ratios.mean[service]
        good = window.size * self._market.works[service]
        return good < _LEAST_GOOD * share * took_ns
