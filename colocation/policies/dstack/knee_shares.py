"""Every service at its knee: as static shares, or as shares that are held only while they run.

References
----------
GSLICE (SoCC'20), sections 3 and 4, as D-STACK (TCC'24), sections 2 and 7, describes it: static
shares at the knee, less than it once the knees exceed the device. Departures: the knee is D-STACK's
(equation 6) over the shares that the profile has; shares are scaled down in proportion; of several
devices a service gets the one with the least knees on it, and devices left over are given out in
the same order again. Held on demand, it is the setting of D-STACK's section 6.C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from surplus.colocation.frame.deployment import Assignment, Deployment, Shortfall
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition
from surplus.colocation.policies.dstack.knee import knee_by_derivative


@dataclass(frozen=True)
class _Place:
    """A service on a device, with its share and the items of a batch."""

    service: int
    device: int
    share_percent: int
    batch: int


@PLANNERS.register("knee_shares")
class KneeShares:
    """A partition for each service.

    Parameters
    ----------
    static : bool
        Divide each device for good (GSLICE); else every service has a place on every device, and
        holds its share while it runs.
    """

    def __init__(self, static: bool = False) -> None:
        self._static = static

    def plan(self, demand: Demand) -> Deployment:
        """Place the services in their order.

        Raises
        ------
        ValueError
            If a static share is outside of a service's profile; the message names the service.
        """
        own = [_at_knee(demand, service) for service in range(len(demand.services))]
        placed = _spread(own, demand) if self._static else _everywhere(own, demand)
        lost = tuple(
            Shortfall(p.service, demand.rates_per_s[p.service], "no device has the memory")
            for p in own
            if all(p.service != q.service for q in placed)
        )
        if self._static:
            placed = [_scaled(place, placed, demand) for place in placed]
        copies = [sum(p.service == q.service for q in placed) for p in placed]
        return Deployment(
            partitions=tuple(Partition(p.device, p.share_percent) for p in placed),
            assignments=tuple(
                Assignment(p.service, k, p.batch, None, demand.rates_per_s[p.service] / copies[k])
                for k, p in enumerate(placed)
            ),
            shortfalls=lost,
            on_demand=not self._static,
        )


def _at_knee(demand: Demand, service: int) -> _Place:
    """Knee of the largest batch that may follow another one like it within the target."""
    own = demand.services[service]
    batch = demand.least_items(service)
    shares = demand.shares(service, batch)
    for items in range(own.max_batch, batch, -1):
        if 2 * _latency_ns(demand, service, items, shares[-1]) <= own.slo_ns:
            batch = items
            break

    def latency_ns(share_percent: int) -> float:
        return _latency_ns(demand, service, batch, share_percent)

    return _Place(service, 0, knee_by_derivative(latency_ns, shares), batch)


def _latency_ns(demand: Demand, service: int, items: int, share_percent: int) -> float:
    """Infinite where the profile has no time."""
    try:
        return demand.latency_ns(service, items, share_percent)
    except ValueError:
        return float("inf")


def _everywhere(own: Sequence[_Place], demand: Demand) -> list[_Place]:
    """Each service on each device that has the memory."""
    room = _Memory(demand)
    devices = range(len(demand.devices))
    return [replace(p, device=d) for d in devices for p in own if room.take(p.service, d)]


def _spread(own: Sequence[_Place], demand: Demand) -> list[_Place]:
    """Each service on one device, then again while devices are empty."""
    room = _Memory(demand)
    held_percent = [0] * len(demand.devices)
    placed: list[_Place] = []
    rounds = 1 + len(demand.devices) // max(1, len(own))
    for place in chain.from_iterable(repeat(own, rounds)):
        if len(placed) >= len(own) and all(held_percent):
            break
        order = sorted(range(len(held_percent)), key=lambda d: (held_percent[d], d))
        device = next((d for d in order if room.take(place.service, d)), None)
        if device is not None:
            held_percent[device] += place.share_percent
            placed.append(replace(place, device=device))
    return placed


def _scaled(place: _Place, placed: Sequence[_Place], demand: Demand) -> _Place:
    """Shrink a share in proportion if those of its device exceed it; keep its batch in time.

    Where the profile has a few shares only, as of whole lanes, it is the next one below.
    """
    asked_percent = sum(other.share_percent for other in placed if other.device == place.device)
    share_percent = max(1, place.share_percent * 100 // max(100, asked_percent))
    name = demand.services[place.service].name
    least = demand.least_items(place.service)
    below = [share for share in demand.shares(place.service, least) if share <= share_percent]
    share_percent = max(below, default=share_percent)
    try:
        demand.latency_ns(place.service, least, share_percent)
    except ValueError as error:
        raise ValueError(f"service {name!r} at {share_percent} %: {error}") from error
    slo_ns = demand.services[place.service].slo_ns
    fitting = (
        items
        for items in range(place.batch, least, -1)
        if _latency_ns(demand, place.service, items, share_percent) <= slo_ns
    )
    return replace(place, share_percent=share_percent, batch=next(fitting, least))


class _Memory:
    """What each device has left."""

    def __init__(self, demand: Demand) -> None:
        self._sizes = [service.memory_bytes for service in demand.services]
        self._left = [device.memory_bytes for device in demand.devices]

    def take(self, service: int, device: int) -> bool:
        """Take a service's memory if it is there; return whether it was."""
        left, size = self._left[device], self._sizes[service]
        if left is not None:
            if left < size:
                return False
            self._left[device] = left - size
        return True
