"""Rates, works and values of the services, and the price that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.rate_monitor import RateMonitor
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.surplus.prices import Price, price_of_waiting

_FULL_PERCENT = 100
_WINDOW_NS = 100 * NS_PER_MS
_WINDOWS = 9
"""Of the estimate of rates: about half a second."""
_PERIOD_NS = 20 * NS_PER_MS
_WEIGHT = 0.02
_LEAST = 16
"""Arrivals after which sizes are known a little; and again at each doubling."""
_ABOVE = 1.0 + 1e-9
"""The service that sets the price is not above it, whatever rounding says."""
ATTAINABLE = 0.97
"""Part of the devices that batches of whole shares fill."""


class Market:
    """Asks for the price anew every few milliseconds.

    Parameters
    ----------
    values : sequence of float
        Of a query, by service.
    horizon_ns : int
        For which queries are counted.
    attainable : float
        Part of the devices that can be filled; what waits beyond it gives time a price.

    Attributes
    ----------
    price : Price
    solve : callable
        ``price_of_waiting``, or its twin in the core.
    works : list of float
        Percent times ns that a query holds in a good batch, by service; who sees prices sets them.
    per_ns : sequence of float
        Arrivals a nanosecond, by service.
    items : list of float
        Mean of the queries' items, by service.
    given_up : list of float
        Part of the queries that were given up of late, by service; the others were answered.
    """

    def __init__(
        self, values: Sequence[float], horizon_ns: int, attainable: float = ATTAINABLE
    ) -> None:
        count = len(values)
        self.values = values
        self.horizon_ns = horizon_ns
        self._attainable = attainable
        self._rates = RateMonitor([0.0] * count, _WINDOW_NS, _WINDOWS)
        self._next_ns = 0
        self._arrivals = 0
        self.price = Price(0.0, 0.0)
        self.solve: Callable[..., tuple[float, float]] = price_of_waiting
        self.works = [1.0] * count
        self.per_ns = [0.0] * count
        self.items = [0.0] * count
        self.given_up = [0.0] * count

    def arrived(self, query: Query) -> bool:
        """Count a query; return whether it is time to look again at what queries hold."""
        service, items = query.service, self.items
        self._rates.arrived(service, query.arrival_ns)
        before = items[service]
        items[service] = before + _WEIGHT * (query.items - before) if before else query.items
        self._arrivals += 1
        return self._arrivals >= _LEAST and not self._arrivals & (self._arrivals - 1)

    def look(self, now_ns: int, waiting: Sequence[Waiting], devices: int) -> bool:
        """Solve again, if it is time; return whether it was."""
        if now_ns < self._next_ns:
            return False
        self._next_ns = now_ns + _PERIOD_NS
        horizon_s = self.horizon_ns / NS_PER_S
        rates = self._rates.rates_per_s(now_ns)
        self.per_ns = [rate / NS_PER_S for rate in rates]
        capacity = self._attainable * _FULL_PERCENT * devices * self.horizon_ns
        self.price = Price(
            *self.solve(waiting, rates, self.works, self.values, horizon_s, capacity)
        )
        return True

    def worthier(self, service: int) -> list[int]:
        """Services that are worth more for their work than one that is not above the price.

        None for a service above it: there is room for all of those.
        """
        worths = [value / work for value, work in zip(self.values, self.works, strict=True)]
        own = worths[service]
        if own > self.price.per_work * _ABOVE:
            return []
        return [k for k, worth in enumerate(worths) if worth > own]

    def departed(self, service: int, count: int, *, given_up: bool) -> bool:
        """Count queries that were given up or answered; return whether that changes the part."""
        before = self.given_up[service]
        kept = (1.0 - _WEIGHT) ** count
        self.given_up[service] = kept * before + (1.0 - kept) * given_up
        return self.given_up[service] != before

    def pressed_per_work(self, service: int) -> float:
        """The price of time for a service that gives queries up: its own others want it, too."""
        own = self.given_up[service] * (self.values[service] / self.works[service])
        return max(self.price.per_work, own)

    def profit(self, service: int, per_work: float) -> float:
        """What a query is worth above the price of what it holds, at least 0."""
        return max(0.0, self.values[service] - per_work * self.works[service])
