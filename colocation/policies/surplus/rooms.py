"""What of each device is free, and where a service may start on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group
from surplus.colocation.policies.surplus.lookahead import WaitingBatch

_FULL_PERCENT = 100


class Wish(NamedTuple):
    """A batch that would start if its share were free."""

    score: float
    service: int
    task: WaitingBatch


class HeldShare(NamedTuple):
    """What holds a share, until when it is predicted to, and a service of it."""

    share_percent: int
    end_ns: int
    service: int


@dataclass
class SharePlace:
    """A share of a device on which a service may run, in any of some partitions."""

    share_percent: int
    batch: int
    partitions: list[int] = field(default_factory=list)


@dataclass
class DeviceRoom:
    """A device.

    Parameters
    ----------
    on_demand : bool
        Whether partitions hold their share only while they run; else a free partition is enough.
    places : dict of int to list of SharePlace
        By service, the smallest share first.
    running : dict of int to HeldShare
        By partition.
    partitions : int
    wishes : list of Wish
        What would have started at the last event, had there been more room.
    least_percent : int
        The smallest share of a place.
    """

    on_demand: bool
    places: dict[int, list[SharePlace]] = field(default_factory=dict)
    running: dict[int, HeldShare] = field(default_factory=dict)
    partitions: int = 0
    wishes: list[Wish] = field(default_factory=list)
    least_percent: int = _FULL_PERCENT

    @property
    def free_percent(self) -> int:
        """Share that a batch may have."""
        if not self.on_demand:
            return _FULL_PERCENT
        return _FULL_PERCENT - sum([run[0] for run in self.running.values()])

    def left_percent(self, share_percent: int) -> int:
        """What is free beside one more batch."""
        if self.on_demand:
            return self.free_percent - share_percent
        taken = len(self.running) + 1
        return 0 if taken >= self.partitions else _FULL_PERCENT

    def free_partition(self, place: SharePlace) -> int | None:
        """One of a place's partitions that runs nothing."""
        running = self.running
        for partition in place.partitions:
            if partition not in running:
                return partition
        return None

    def next_end_ns(self, service: int) -> int | None:
        """When the first batch of a service is predicted to end; None if none runs."""
        ends = [run.end_ns for run in self.running.values() if run.service == service]
        return min(ends, default=None)

    def held_after(self, when_ns: int) -> int:
        """Share of what runs now that will still run then."""
        return sum(run.share_percent for run in self.running.values() if run.end_ns > when_ns)


def rooms_of(state: State) -> dict[int, DeviceRoom]:
    """All devices of a deployment, by index, with what runs on them."""
    deployment = state.deployment
    found: dict[int, DeviceRoom] = {}
    known: dict[tuple[int, int, int, int], SharePlace] = {}
    for who in deployment.assignments:
        own = deployment.partitions[who.partition]
        room = found.setdefault(own.device, DeviceRoom(deployment.on_demand))
        key = (own.device, who.service, own.share_percent, who.batch)
        if key not in known:
            known[key] = SharePlace(own.share_percent, who.batch)
            room.places.setdefault(who.service, []).append(known[key])
        known[key].partitions.append(who.partition)
        room.least_percent = min(room.least_percent, own.share_percent)
    for room in found.values():
        own_partitions = {
            p for places in room.places.values() for q in places for p in q.partitions
        }
        room.partitions = len(own_partitions)
        for places in room.places.values():
            places.sort(key=lambda place: place.share_percent)
    for group in state.running:
        if group is not None:
            _hold(found, deployment, group)
    return found


def _hold(rooms: dict[int, DeviceRoom], deployment: Deployment, group: Group) -> None:
    """Book a group that runs, on partitions that have closed since, too."""
    own = deployment.partitions[group.partition]
    if own.device in rooms:
        end_ns = group.start_ns + group.predicted_ns
        run = HeldShare(own.share_percent, end_ns, group.pieces[0].service)
        rooms[own.device].running[group.partition] = run
