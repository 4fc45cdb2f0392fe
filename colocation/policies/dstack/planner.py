"""D-STACK's planner: an operating point for each service, on as many devices as its rate needs.

References
----------
D-STACK (TCC'24), sections 5 (equations 7 to 12), 6.A and 7.A. What the text leaves open: a service
goes to the devices with most room, and to one more while its rate is above what it gets, as in
7.A; one whose rate no device can hold gets a place on every device and runs as far as it fits.
Where no point keeps equation 12, as its own Table VI has for two models, it is left out, and then
equation 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Assignment, Deployment, Shortfall
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition
from surplus.colocation.policies.dstack.efficacy import (
    Limits,
    OperatingPoint,
    exhaustive,
    optimise,
    point_of,
)
from surplus.colocation.policies.dstack.knee import knee_by_derivative, search_knee


@dataclass
class _Room:
    """What is left of a device: share of its time, and bytes (None: no limit)."""

    device: int
    time: float
    memory_bytes: int | None


@PLANNERS.register("dstack")
class DStackPlanner:
    """Partitions that hold their share only while they run.

    Parameters
    ----------
    program : bool
        Solve equations 7 to 12 by a non-linear program on a fitted function, as the paper does,
        instead of trying every whole number; of profiles that have every share.
    batch : int, optional
        Items of a planned batch for every service, instead of the optimum; the share is then the
        knee by equation 6.
    search : bool
        Treat the services as unknown: find each share by ``search_knee``, for the planned batch,
        instead of the share of greatest efficacy.
    whole : bool
        Give every service the whole device: temporal sharing, all else alike.
    spare_percent : int
        Added to every share, of the device, as far as the profile has shares (section 5.B says 5
        to 10); >= 0.
    reduced : float, optional
        Load every service a second time, with this fraction of its share, for gaps that the
        first does not fit into (section 6.A.1), where the profile has one so small; 0 <
        ``reduced`` < 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self,
        program: bool = False,
        batch: int | None = None,
        search: bool = False,
        whole: bool = False,
        spare_percent: int = 0,
        reduced: float | None = None,
    ) -> None:
        if batch is not None and batch < 1:
            raise ValueError(f"batch must be >= 1, got {batch}")
        if not 0 <= spare_percent <= 100:
            raise ValueError(f"spare_percent must be 0 to 100, got {spare_percent}")
        if reduced is not None and not 0 < reduced < 1:
            raise ValueError(f"reduced must be > 0 and < 1, got {reduced}")
        self._program = program
        self._batch = batch
        self._search = search
        self._whole = whole
        self._spare_percent = spare_percent
        self._reduced = reduced

    def plan(self, demand: Demand) -> Deployment:
        """Place the most demanding services first.

        Raises
        ------
        ValueError
            If a profile has no time at all; the message names the service.
        """
        points = []
        for service in range(len(demand.services)):
            with _naming(demand, service):
                points.append(self._point(demand, service))
        needs = [_need(demand, service, point) for service, point in enumerate(points)]
        rooms = [_Room(k, 1.0, d.memory_bytes) for k, d in enumerate(demand.devices)]
        places: list[tuple[int, int, float]] = []
        shortfalls = []
        for service in sorted(range(len(needs)), key=lambda k: (-needs[k], k)):
            point, need = points[service], needs[service]
            found = list(_placed(demand, service, point, need, rooms, self._copies))
            places += [(service, device, part) for device, part in found]
            held = min(1.0, sum(part for _, part in found) / need) if need else 1.0
            if held < 1.0 - 1e-9 or not found:
                reason = _reason(found, need)
                missed_per_s = demand.rates_per_s[service] * (1.0 - held)
                shortfalls.append(Shortfall(service, missed_per_s, reason))
        return self._deployment(demand, points, needs, sorted(places), shortfalls)

    def _deployment(
        self,
        demand: Demand,
        points: list[OperatingPoint],
        needs: list[float],
        places: list[tuple[int, int, float]],
        shortfalls: list[Shortfall],
    ) -> Deployment:
        partitions: list[Partition] = []
        assignments: list[Assignment] = []
        for service, device, part in places:
            point = points[service]
            rate_per_s = demand.rates_per_s[service] * min(1.0, part / (needs[service] or 1.0))
            for share_percent in self._shares(demand, service, point):
                slo_ns = demand.services[service].slo_ns
                took_ns = demand.latency_ns(service, point.items, share_percent)
                place = (service, len(partitions), point.items)
                assignments.append(Assignment(*place, slo_ns, rate_per_s, took_ns))
                partitions.append(Partition(device, share_percent))
        return Deployment(tuple(partitions), tuple(assignments), tuple(shortfalls), True)

    @property
    def _copies(self) -> int:
        """Instances of a service on a device."""
        return 1 if self._reduced is None else 2

    def _shares(self, demand: Demand, service: int, point: OperatingPoint) -> Iterator[int]:
        yield point.share_percent
        if self._reduced is not None and not self._whole:
            known = demand.shares(service, point.items)
            less = _next_above(known, max(1, round(point.share_percent * self._reduced)))
            if less < point.share_percent:
                yield less

    def _point(self, demand: Demand, service: int) -> OperatingPoint:
        def latency_ns(items: int, share_percent: int) -> int:
            return demand.latency_ns(service, items, share_percent)

        known = demand.shares(service, demand.least_items(service))
        point = self._chosen(demand, service, known)
        if point is None:
            batch = max(self._batch or 1, demand.items[service])
            batch = min(batch, demand.services[service].max_batch)
            knee = knee_by_derivative(lambda share: latency_ns(batch, share), known)
            point = point_of(latency_ns, batch, knee)
        share = point.share_percent
        if self._search:
            rounded = partial(_next_above, known)
            share = search_knee(lambda share: latency_ns(point.items, rounded(share))).share
        share = _next_above(known, share)
        share = max(other for other in known if other <= share + self._spare_percent)
        share = known[-1] if self._whole else share
        return point if share == point.share_percent else point_of(latency_ns, point.items, share)

    def _chosen(self, demand: Demand, service: int, known: Sequence[int]) -> OperatingPoint | None:
        """The optimum under equations 10 to 12; None if a batch is given or none is feasible."""
        own = demand.services[service]
        rate_per_s = demand.rates_per_s[service] * demand.items[service]
        if self._batch is not None or rate_per_s <= 0:
            return None

        def latency_ns(items: int, share_percent: int) -> int:
            return demand.latency_ns(service, items, share_percent)

        limits = Limits(own.max_batch, own.slo_ns, rate_per_s)
        fitted = self._program and len(known) == 100
        search = optimise if fitted else partial(exhaustive, shares=known)
        found = search(latency_ns, limits) or search(latency_ns, replace(limits, halved=False))
        least = demand.least_items(service)
        if found is not None and found.items < least:
            found = point_of(latency_ns, least, found.share_percent)
        return found


def _next_above(known: Sequence[int], share_percent: int) -> int:
    """The least share that the profile knows and that is enough; its largest if none is."""
    return next((share for share in known if share >= share_percent), known[-1])


@contextmanager
def _naming(demand: Demand, service: int) -> Iterator[None]:
    """Errors of profiles say what they lack, and here whose they are."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"service {demand.services[service].name!r}: {error}") from error


def _need(demand: Demand, service: int, point: OperatingPoint) -> float:
    """Share of one device's time that the rate takes in planned batches."""
    batches_per_s = demand.rates_per_s[service] * demand.items[service] / point.items
    return batches_per_s * point.latency_ns / NS_PER_S * point.share_percent / 100


def _placed(
    demand: Demand,
    service: int,
    point: OperatingPoint,
    need: float,
    rooms: list[_Room],
    copies: int,
) -> Iterator[tuple[int, float]]:
    """Devices for a service, and the part of its need that each takes."""
    own_bytes = demand.services[service].memory_bytes * copies
    left = need
    for room in sorted(rooms, key=lambda room: (-room.time, room.device)):
        if room.memory_bytes is not None:
            if room.memory_bytes < own_bytes:
                continue
            room.memory_bytes -= own_bytes
        part = max(0.0, min(left, room.time, point.share_percent / 100))
        room.time -= part
        left -= part
        yield room.device, part
        if left <= 1e-12:
            return


def _reason(found: list[tuple[int, float]], need: float) -> str:
    if not found:
        return "no device has the memory"
    held = sum(part for _, part in found)
    return f"needs {100 * need:.0f} % of a device's time, {100 * held:.0f} % are left"
