"""Which column of a device starts next: value over work, urgent ones first, at a price."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.surplus.batch_times import BatchTimes, FittingBatch
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.lookahead import WaitingBatch
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.queue_windows import QueueWindows
from surplus.colocation.policies.surplus.rooms import DeviceRoom, SharePlace, Wish
from surplus.colocation.policies.surplus.windows import QueueWindow

_UNWORTHY = 1e3
"""What is not worth its price comes after all that is."""
_LEAST_GAIN = 1e-3
"""Of a batch that makes more late than it answers."""
_WEIGHT = 0.1


class Column(NamedTuple):
    """A batch that could start now, behind some queries that are given up for it.

    ``full`` is how many queries it might be of.
    """

    score: float
    service: int
    task: WaitingBatch
    partition: int
    skipped: int
    size: int
    full: int

    @property
    def worthy(self) -> bool:
        """Whether it is worth its price."""
        return self.score > -_UNWORTHY / 2


class Hopeless(NamedTuple):
    """A query that would be late even on the fastest share, and when it would end."""

    query: Query
    end_ns: int


class ColumnChoice:
    """Weighs columns.

    Parameters
    ----------
    params : PricedParams
    values : list of float
        Of a query, by service.
    times, ratios, market
        What is predicted, learnt, and worth.
    """

    def __init__(
        self,
        params: PricedParams,
        values: list[float],
        times: BatchTimes,
        ratios: TimeRatios,
        market: Market,
    ) -> None:
        self._params = params
        self._values = values
        self._times = times
        self._ratios = ratios
        self._market = market
        self._mean_ns = 0.0
        self._blocking = Blocking((), 1)
        self._costs = params.share_costs()
        self._windows = QueueWindows(params, values, times, ratios, market)

    def of_service(
        self, service: int, waiting: Waiting, room: DeviceRoom, free_percent: int, now_ns: int
    ) -> Column | Wish | Hopeless:
        """The best column of a queue that is not empty, or what it lacks."""
        head = waiting.urgent
        slack_ns = head.deadline_ns - now_ns
        places = room.places[service]
        if self._windows.pressed(service):
            regrouped = self._windows.best_free(service, waiting, room, free_percent, now_ns)
            if regrouped is not None:
                return self._sized(service, waiting, room, *regrouped, now_ns)
        found = self._fastest_for_its_share(
            waiting, places, room, free_percent, slack_ns / self._ratios.bound[service]
        )
        if found is None:
            found = self._fastest_for_its_share(
                waiting, places, room, free_percent, slack_ns / self._ratios.mean[service]
            )
        if found is None:
            took_ns = min(self._times.first_ns(waiting, p.share_percent) for p in places)
            return Hopeless(head, now_ns + round(took_ns * self._ratios.mean[service]))
        place, partition, fitting = found
        if partition is None:
            score = self._score(service, place.share_percent, fitting, slack_ns, 0.0)
            return Wish(score, service, self._task(service, head.deadline_ns, place, fitting))
        window = self._window(service, waiting, place, fitting, now_ns)
        return self._sized(service, waiting, room, place, partition, window, now_ns)

    def adopt(self, blocking: Blocking) -> None:
        """Serve on another deployment."""
        self._blocking = blocking

    def started(self, took_ns: int) -> None:
        """Learn how long batches are."""
        self._mean_ns += (_WEIGHT if self._mean_ns else 1.0) * (took_ns - self._mean_ns)

    def wait_until(self, waiting: Waiting, column: Column, now_ns: int) -> int | None:
        """Until when a batch that is not full waits for more queries; None if it does not."""
        fill = self._params.fill
        if not fill:
            return None
        head = waiting.urgent
        share, most = column.task.share_percent, column.full
        row = self._times.row(column.service, head.items, head.sequence, share, most * head.items)
        full_ns = row[most - 1] * self._ratios.bound[column.service]
        arrival_ns = head.arrival_ns
        until_ns = arrival_ns + round(fill * (head.deadline_ns - full_ns - arrival_ns))
        return until_ns if until_ns > now_ns else None

    def too_dear_until(self, column: Column, now_ns: int) -> int | None:
        """Until when a batch waits that holds too much for its queries; None if it does not."""
        task, service = column.task, column.service
        work = task.share_percent * task.took_ns / column.size
        if not self._params.thrift or work <= self._params.thrift * self._market.works[service]:
            return None
        latest_ns = task.deadline_ns - round(
            task.took_ns * self._ratios.bound[service] / self._ratios.mean[service]
        )
        until_ns = (now_ns + latest_ns) // 2
        return until_ns if until_ns > now_ns + task.took_ns // 8 else None

    def _fastest_for_its_share(
        self,
        waiting: Waiting,
        places: list[SharePlace],
        room: DeviceRoom,
        free_percent: int,
        limit_ns: float,
    ) -> tuple[SharePlace, int | None, FittingBatch] | None:
        """Of the places in time the one with most queries over ``share^width x time``.

        One that is free, if any is; the partition is None if none is.
        """
        best: tuple[SharePlace, int | None, FittingBatch] | None = None
        most, best_free = 0.0, False
        least_items = waiting.urgent.items
        for place in places:
            share = place.share_percent
            fitting = self._times.longest(waiting, max(place.batch, least_items), share, limit_ns)
            if not fitting.size:
                continue
            partition = room.free_partition(place) if share <= free_percent else None
            free = partition is not None
            if best_free and not free:
                continue
            value = fitting.size / (self._costs[share] * fitting.took_ns)
            if best is None or free > best_free or value > most:
                best, most, best_free = (place, partition, fitting), value, free
        return best

    def _window(
        self,
        service: int,
        waiting: Waiting,
        place: SharePlace,
        fitting: FittingBatch,
        now_ns: int,
    ) -> QueueWindow:
        """The first queries, as many as fit, or a window that is worth more than those."""
        head = waiting.urgent
        most = max(1, max(place.batch, head.items) // head.items)
        window = None
        if fitting.size < min(len(waiting), most):
            window = self._windows.on(service, waiting, place, now_ns)
        return QueueWindow(0, *fitting, head.deadline_ns) if window is None else window

    def _sized(
        self,
        service: int,
        waiting: Waiting,
        room: DeviceRoom,
        place: SharePlace,
        partition: int,
        window: QueueWindow,
        now_ns: int,
    ) -> Column:
        """A window, or less of it: not so long that it makes others late who are worth more."""
        share, slack_ns = place.share_percent, window.deadline_ns - now_ns
        left = room.left_percent(share)
        best = FittingBatch(window.size, window.took_ns)
        most = self._score(service, share, best, slack_ns, self._loss(service, best, left))
        row: Sequence[int] = ()
        count = window.size // 2
        while count and self._loss(service, best, left):
            if not row:
                queries = waiting.first(window.skipped + window.size)[window.skipped :]
                most_items = max(place.batch, waiting.urgent.items)
                row = self._times.prefixes_of(queries, most_items, share)
            shorter = FittingBatch(count, row[count - 1])
            loss = self._loss(service, shorter, left)
            score = self._score(service, share, shorter, slack_ns, loss)
            if score > most:
                best, most = shorter, score
            count //= 2
        full = max(1, place.batch // waiting.urgent.items)
        task = self._task(service, window.deadline_ns, place, best)
        return Column(most, service, task, partition, window.skipped, best.size, full)

    def _loss(self, service: int, fitting: FittingBatch, left_percent: int) -> float:
        """Value of those whom a batch makes late that are still to come."""
        if not self._params.blocking:
            return 0.0
        took_ns = fitting.took_ns * self._ratios.mean[service]
        loss = self._blocking.loss(took_ns, left_percent, self._market.per_ns, self._values)
        return self._params.blocking * loss

    def _task(
        self, service: int, deadline_ns: int, place: SharePlace, fitting: FittingBatch
    ) -> WaitingBatch:
        """For the look ahead; it takes what it takes on the mean, or else is late already."""
        value = self._values[service] * fitting.size
        took_ns = round(fitting.took_ns * self._ratios.mean[service])
        return WaitingBatch(deadline_ns, value, place.share_percent, took_ns)

    def _score(
        self, service: int, share: int, fitting: FittingBatch, slack_ns: int, loss: float
    ) -> float:
        """Logarithm of value over work, less the longer it can wait, last below its price."""
        took_ns = fitting.took_ns * self._ratios.mean[service]
        value = self._values[service] * fitting.size
        gain = max(_LEAST_GAIN * value, value - loss)
        work = share * took_ns
        spare_ns = max(0.0, slack_ns - took_ns)
        score = log(gain / work) - spare_ns / (self._params.patience * (self._mean_ns or took_ns))
        if value < self._market.price.per_work * work:
            score -= _UNWORTHY
        return score
