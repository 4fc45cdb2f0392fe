"""What is left to gain, live: the queries of the last seconds, and how many any policy answers.

Why nothing beats it. Queries that came within a time of ``W`` and are answered in time hold
devices within ``W`` and the longest target after it, each at least its least work
(``least_profiled.py``). So the linear program of ``prices.py`` with these queries and that much of
the devices bounds them; so does the sum of those of the slots of ``W``, each with the longest
target after it, which is the lower one where queries come in bursts.

By the profiles: where models take less time than these say, or groups save time, more can be
answered; then the bound is what was answered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from operator import mul
from typing import NamedTuple

from surplus.colocation.clairvoyant.cheapest_cores import cheapest
from surplus.colocation.clairvoyant.least_profiled import least_per_item
from surplus.colocation.clairvoyant.least_work import FULL_PERCENT
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.query import Query
from surplus.colocation.policies.surplus.prices import price_of

_SLOTS = 10
"""That are looked at."""

_Kind = tuple[int, int, int]
"""Service, items and sequence: queries that hold the same."""


class Recent(NamedTuple):
    """The queries that came within some time, all of which have ended or are late.

    Parameters
    ----------
    window_ns : int
        How long they came for; 0 if nothing is old enough.
    offered, in_time : int
        Queries, and those of them that were answered in time.
    most : float
        That any policy could have answered in time.
    need : float
        Devices that the least work of all takes.
    """

    window_ns: int
    offered: int
    in_time: int
    most: float
    need: float


@dataclass(slots=True)
class _Slot:
    """How many devices there were, and what came."""

    devices: int
    offered: Counter[_Kind] = field(default_factory=Counter)
    in_time: int = 0


class RecentBound:
    """Counts queries by when they came.

    Parameters
    ----------
    demand : Demand
        Its rates are of no matter.
    slot_ns : int
        What is counted together, and looked at ten of.
    """

    def __init__(self, demand: Demand, slot_ns: int = NS_PER_S) -> None:
        services = demand.services
        self._slot_ns = slot_ns
        self._demand = demand
        self._profiles = [cheapest(profile, demand.devices) for profile in demand.profiles]
        self._known: dict[tuple[int, int], list[float]] = {}
        for service in range(len(services)):
            self._least(service, 0)  # now: it takes some milliseconds
        self._longest_ns = max(service.slo_ns for service in services)
        self._devices = len(demand.devices)
        self._slots: dict[int, _Slot] = {}
        self._first: int | None = None

    def arrived(self, query: Query) -> None:
        """Count a query that may still be answered in time."""
        number = query.arrival_ns // self._slot_ns
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = _Slot(self._devices)
            self._forget(number)
        slot.offered[query.service, query.items, query.sequence] += 1

    def answered(self, query: Query) -> None:
        """Count one that was in time."""
        slot = self._slots.get(query.arrival_ns // self._slot_ns)
        if slot is not None:
            slot.in_time += 1

    def lost(self) -> None:
        """A device is there no more."""
        self._devices -= 1

    def look(self, now_ns: int) -> Recent:
        """Sum up the last ten slots of which nothing can be in time any more."""
        end = (now_ns - self._longest_ns) // self._slot_ns
        if self._first is None or end <= self._first:
            return Recent(0, 0, 0, 0.0, 0.0)
        numbers = range(max(self._first, end - _SLOTS), end)
        slots = [self._slots[number] for number in numbers if number in self._slots]
        offered: Counter[_Kind] = Counter()
        for slot in slots:
            offered.update(slot.offered)
        idle = len(numbers) - len(slots)
        held = sum(slot.devices for slot in slots) + idle * self._devices
        after_ns = self._longest_ns * max((slot.devices for slot in slots), default=0)
        whole = self._most(offered, FULL_PERCENT * (held * self._slot_ns + after_ns))
        apart = sum(self._most(slot.offered, self._of(slot)) for slot in slots)
        in_time = sum(slot.in_time for slot in slots)
        work = sum(map(mul, *self._possible(offered)))
        return Recent(
            len(numbers) * self._slot_ns,
            offered.total(),
            in_time,
            max(in_time, min(whole, apart)),
            work / (FULL_PERCENT * len(numbers) * self._slot_ns),
        )

    def _of(self, slot: _Slot) -> float:
        """Percent times ns that its queries can hold."""
        return FULL_PERCENT * slot.devices * (self._slot_ns + self._longest_ns)

    def _most(self, offered: Counter[_Kind], capacity: float) -> float:
        """The optimum of the linear program."""
        counts, works = self._possible(offered)
        return price_of(counts, works, [1.0] * len(counts), capacity).most

    def _possible(self, offered: Counter[_Kind]) -> tuple[list[int], list[float]]:
        """Queries that can be in time, and the work of each, by kind."""
        works = [self._work(kind) for kind in offered]
        return (
            [count for count, work in zip(offered.values(), works, strict=True) if work < inf],
            [work for work in works if work < inf],
        )

    def _work(self, kind: _Kind) -> float:
        """Percent times ns of a query; infinite if it is late whatever is done."""
        service, items, sequence = kind
        least = self._least(service, sequence)
        return items * least[items - 1] if items <= len(least) else inf

    def _least(self, service: int, sequence: int) -> list[float]:
        """Percent times ns of an item, by the items of a query."""
        key = (service, sequence)
        if key not in self._known:
            own, profile = self._demand.services[service], self._profiles[service]
            self._known[key] = least_per_item(own, profile, sequence)
        return self._known[key]

    def _forget(self, number: int) -> None:
        """What no look will see again."""
        if self._first is None:
            self._first = number
        oldest = number - _SLOTS - self._longest_ns // self._slot_ns - 2
        for old in [one for one in self._slots if one < oldest]:
            del self._slots[old]
