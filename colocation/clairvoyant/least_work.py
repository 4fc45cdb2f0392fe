"""The least that a query can cost: share of a device times time, whatever a policy does.

A batch of ``n`` items of queries that are answered in time, on a share ``s``, holds
``s x L(N, s) x factor`` of a device, ``N >= n`` with the queries in it that are late. Charged to
its ``n`` items alone, and made as small as any ``n`` and ``s`` make it, this is what an item costs
at least. What limits ``n``: the service's batches, the target (the batch must end within it) and
the load (those answered in time came within the target less the time of the batch).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from surplus.colocation.clairvoyant.cheapest_cores import CheapestCores
from surplus.colocation.frame.load import Column, Load
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.service import Service
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import Noise

FULL_PERCENT = 100
_SAFE = 1.0 - 1e-9
"""Below one by more than what sums of doubles lose."""
_ROUNDED_NS = 1000
"""More than rounding can take off the time of an operator."""
_LUCKS = 16
"""Different lucks that are told apart; others are rounded to the next luckier one."""


class LeastWork:
    """Least work of the queries of one service.

    Parameters
    ----------
    service : Service
    profile : LatencyProfile
    noise : Noise
        A factor that grows with its draw.
    seed : int
        Of the service times.
    overlap : float
        What groups of several pieces save at most, 0 to 1.
    load : Load
    index : int
        Of the service.

    Notes
    -----
    Luck: the time of a piece is drawn by its first query, and a policy may put any query first, so
    a batch is never luckier than the service's luckiest query; where batches of two queries do not
    fit and models are not cut, each query has its own luck. A model that is cut runs each operator
    in a batch of its own, so that only the time of an operator must fit the target; of layers that
    take unequal times the shortest may take nothing. Rounding costs an operator less than 1 ns.
    """

    def __init__(
        self,
        service: Service,
        profile: LatencyProfile,
        noise: Noise,
        seed: int,
        overlap: float,
        load: Load,
        index: int,
    ) -> None:
        own = load.service == index
        self._service, self._profile, self._noise = service, profile, noise
        self._kept = 1.0 - overlap
        uneven = isinstance(profile, CheapestCores) and service.operators > 1
        self._parts = inf if uneven else service.operators
        self._arrivals_ns, self._items = load.arrival_ns[own], load.items[own]
        self._sequence = load.sequence[own]
        self._lengths = sorted(set(self._sequence.tolist()))
        self._windows_ns: dict[int, float] = {}
        self._profiled: dict[tuple[int, int, int], tuple[float, float]] = {}
        self._numbers = load.number[own].tolist()
        self._stream = stream_of(seed, service.name)

    def of_queries(self) -> list[float]:
        """Work of each query of the service, in percent times ns; infinite if always late."""
        if not len(self._items):
            return []
        alone = service_runs_alone(self._service, int(self._items.min()))
        lucks = [self._draw(number) for number in self._numbers]
        lucks = in_levels(lucks, _LUCKS) if alone else [min(lucks)] * len(lucks)
        known: dict[tuple[int, int, float], float] = {}
        works = []
        for key in zip(self._items.tolist(), self._sequence.tolist(), lucks, strict=True):
            if key not in known:
                known[key] = self._work(*key)
            works.append(known[key])
        return works

    def _draw(self, number: int) -> float:
        """The luckiest draw of a query, at whichever operator a piece starts."""
        return min(uniform(self._stream, number, k) for k in range(self._service.operators))

    def _work(self, items: int, sequence: int, draw: float) -> float:
        """Least over shares and batches."""
        costs = [
            cost
            for share_percent in range(1, FULL_PERCENT + 1)
            for cost in self._costs(items, sequence, draw, share_percent)
        ]
        return items * min(costs, default=inf) * _SAFE

    def _costs(self, items: int, sequence: int, draw: float, share_percent: int) -> Iterator[float]:
        """What an item costs in each batch that can be in time."""
        operators = self._service.operators
        for batch, took_ns in self._times(items, sequence, draw, share_percent):
            spare_ns = self._service.slo_ns - max(0.0, took_ns / self._parts - _ROUNDED_NS)
            if spare_ns >= (self._window_ns(batch) if batch > items else 0):
                yield share_percent * max(0.0, took_ns * self._kept - operators) / batch

    def _times(
        self, items: int, sequence: int, draw: float, share_percent: int
    ) -> list[tuple[int, float]]:
        """Least time of batches of at least so many items, by items."""
        longer = [length for length in self._lengths if length >= sequence]
        rows: list[tuple[int, float]] = []
        least = inf
        for batch in range(self._service.max_batch, items - 1, -1):
            for other in longer:
                least = min(least, self._time(batch, other, draw, share_percent))
            rows.append((batch, least))
        return rows

    def _time(self, batch: int, sequence: int, draw: float, share_percent: int) -> float:
        """Infinite where the profile has none: no policy can run that either."""
        key = (batch, sequence, share_percent)
        if key not in self._profiled:
            self._profiled[key] = self._looked_up(*key)
        profiled_ns, spread = self._profiled[key]
        return profiled_ns * self._noise(draw, spread)

    def _looked_up(self, batch: int, sequence: int, share_percent: int) -> tuple[float, float]:
        try:
            profiled_ns = self._profile.latency_ns(batch, sequence, share_percent)
            return profiled_ns, self._profile.spread(batch, sequence)
        except ValueError:
            return inf, 0.0

    def _window_ns(self, items: int) -> float:
        if items not in self._windows_ns:
            window_ns = shortest_window(self._arrivals_ns, self._items, items)
            self._windows_ns[items] = window_ns
        return self._windows_ns[items]


def service_runs_alone(service: Service, least_items: int) -> bool:
    """Whether every piece is one whole query."""
    return service.operators == 1 and 2 * least_items > service.max_batch


def shortest_window(arrivals_ns: Column, items: Column, least: int) -> float:
    """Shortest time, ends included, within which so many items come; infinite if never."""
    total = np.concatenate([[0], np.cumsum(items)])
    first = np.searchsorted(total, total[1:] - least, side="right") - 1
    reached = total[1:] >= least
    lengths_ns = arrivals_ns[reached] - arrivals_ns[first[reached]]
    return float(lengths_ns.min()) if len(lengths_ns) else inf


def in_levels(works: Sequence[float], levels: int) -> list[float]:
    """Round values down to so many different ones; infinite ones stay."""
    finite = sorted({work for work in works if work < inf})
    if len(finite) <= levels:
        return list(works)
    steps = np.array([finite[len(finite) * k // levels] for k in range(levels)])
    places = np.searchsorted(steps, np.array(works), side="right") - 1
    rounded = steps[places].tolist()
    return [inf if work == inf else low for work, low in zip(works, rounded, strict=True)]
