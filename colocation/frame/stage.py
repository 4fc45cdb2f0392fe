"""Which partitions are open, while deployments, devices and services come and go.

Partitions keep their indices for a whole run: a new deployment finds its partitions among those
that there were, or adds to them, so that records, dispatchers and executors never renumber.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group


class Stage:
    """Opens a deployment partition by partition.

    A partition of the new deployment opens when what still runs in closed ones of its device
    leaves room for its share (at once, if it holds it on demand); one that stays as it is never
    closes.

    Parameters
    ----------
    deployment : Deployment
        The first one; all of it is open.

    Attributes
    ----------
    view : Deployment
        All partitions so far, and who may start in which now.
    running : list of Group or None
        By partition.
    served : frozenset of int
        Services that the deployment has a place for, open or about to open.
    """

    def __init__(self, deployment: Deployment) -> None:
        self.view = deployment
        self.running: list[Group | None] = [None] * len(deployment.partitions)
        self.served = deployment.served
        self.first = deployment
        self._target = deployment
        self._lost: set[int] = set()
        self._absent: set[int] = set()
        self._waits = False

    @property
    def target(self) -> Deployment:
        """The deployment that is being opened, or is open."""
        return self._target

    @property
    def lost(self) -> frozenset[int]:
        """Devices that are away."""
        return frozenset(self._lost)

    @property
    def absent(self) -> frozenset[int]:
        """Services that are away."""
        return frozenset(self._absent)

    def placed(self, deployment: Deployment) -> Deployment:
        """Find the partitions of a deployment among those that there were, or add them."""
        places = self._matched(deployment)
        known = list(self.view.partitions)
        for index, partition in enumerate(deployment.partitions):
            if index not in places:
                places[index] = len(known)
                known.append(partition)
                self.running.append(None)
        self.view = replace(self.view, partitions=tuple(known))
        moved = (replace(a, partition=places[a.partition]) for a in deployment.assignments)
        return replace(deployment, partitions=tuple(known), assignments=tuple(moved))

    def _matched(self, deployment: Deployment) -> dict[int, int]:
        """Places of partitions that there were; with the same services on them, if possible."""
        free = dict(enumerate(self.view.partitions))
        places: dict[int, int] = {}
        now, then = _services(deployment), _services(self._target)
        for alike in (True, False):
            for index, partition in enumerate(deployment.partitions):
                own = now.get(index)
                for place, other in free.items():
                    same = not alike or own == then.get(place)
                    if index not in places and other == partition and same:
                        places[index] = place
                free.pop(places.get(index, -1), None)
        return places

    def take_over(self, deployment: Deployment) -> None:
        """Go over to a deployment that was ``placed``."""
        self._target = deployment
        self._reopen()

    def change(self, change: Change) -> None:
        """Lose or regain a device or a service."""
        away = self._lost if change.kind.of_device else self._absent
        if change.kind.away:
            away.add(change.subject)
        else:
            away.discard(change.subject)
        self._reopen()

    def running_on(self, device: int) -> list[Group]:
        """Groups that run on a device."""
        partitions = self.view.partitions
        return [
            g for g in self.running if g is not None and partitions[g.partition].device == device
        ]

    def free(self, partition: int) -> bool:
        """Book that a partition runs nothing; return whether that opened another one."""
        self.running[partition] = None
        if not self._waits:
            return False
        before = self.view
        self._reopen()
        return self.view is not before

    def _reopen(self) -> None:
        """Open what fits; partitions that are open or still run come first."""
        partitions = self.view.partitions
        wanted = self._wanted()
        places = {assignment.partition for assignment in wanted}
        room = _Room(partitions, self._target.on_demand)
        for place, group in enumerate(self.running):
            if group is not None and place not in places:
                room.take(place)
        held = {a.partition for a in self.view.assignments}
        held.update(p for p, group in enumerate(self.running) if group is not None)
        opened = {p for p in sorted(places, key=lambda p: (p not in held, p)) if room.take(p)}
        self._waits = opened != places
        self.served = frozenset(assignment.service for assignment in wanted)
        kept = tuple(a for a in wanted if a.partition in opened)
        if kept != self.view.assignments or self._target.mode != self.view.mode:
            self.view = replace(self._target, partitions=partitions, assignments=kept)

    def _wanted(self) -> list[Assignment]:
        """Assignments of services that are here to devices that are here."""
        partitions = self.view.partitions
        return [
            a
            for a in self._target.assignments
            if partitions[a.partition].device not in self._lost and a.service not in self._absent
        ]


def _services(deployment: Deployment) -> dict[int, set[int]]:
    """By partition, of those that have any."""
    found: dict[int, set[int]] = {}
    for own in deployment.assignments:
        found.setdefault(own.partition, set()).add(own.service)
    return found


class _Room:
    """What is left of each device."""

    def __init__(self, partitions: Sequence[Partition], on_demand: bool) -> None:
        self._partitions = partitions
        self._on_demand = on_demand
        self._used_percent: dict[int, int] = {}

    def take(self, place: int) -> bool:
        """Take a partition's share, if it is there; return whether it was."""
        device, share = self._partitions[place].device, self._partitions[place].share_percent
        used_percent = self._used_percent.get(device, 0) + share
        if used_percent > 100 and not self._on_demand:
            return False
        self._used_percent[device] = used_percent
        return True
