"""The devices of a cluster while a plan is made: strips, who sits in them, what is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surplus.cluster.frame.cluster_plan import ClusterPlan, Replica, Strip
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats
from surplus.colocation.frame.deployment import Shortfall

_MOST_STRIPS = 10
"""Of a device; strips are of 10 % at least."""

_FULL = 1.0 + 1e-9


class Seat(NamedTuple):
    """A replica in a strip: what it is planned for, and what it takes."""

    batch: int
    rate_per_s: float
    load: float
    memory_bytes: int


class Racks:
    """What is where. Strips and devices are numbered over the whole fleet.

    Parameters
    ----------
    fleet : Fleet
    warm : frozenset of int
        Nodes that are up without replicas; taken before others that are unused.
    lost : frozenset of int
        Nodes that stay closed.
    """

    def __init__(
        self, fleet: Fleet, warm: frozenset[int] = frozenset(), lost: frozenset[int] = frozenset()
    ) -> None:
        counts = [len(node.devices) for node in fleet.nodes]
        self.node_of = np.repeat(np.arange(len(counts)), counts)
        self._first = np.concatenate(([0], np.cumsum(counts)))[:-1].astype(np.int64)
        self._device_kind = fleet.kind_of[self.node_of]
        self._free_percent = np.full(len(self.node_of), 100, np.int64)
        self._free_bytes = np.array(
            [fleet.kind(n).memory_bytes for n in self.node_of.tolist()], np.int64
        )
        self._seats_on = np.zeros(len(counts), np.int64)
        self._warm = np.zeros(len(counts), np.bool_)
        self._warm[sorted(warm)] = True
        self._lost = sorted(lost)
        self.closed: npt.NDArray[np.bool_] = np.zeros(len(counts), np.bool_)
        self.reopen()
        most = _MOST_STRIPS * len(self.node_of)
        self._device = np.zeros(most, np.int64)
        self._sort = np.full(most, -1, np.int64)
        self._load = np.ones(most)
        self._strips: list[Strip | None] = [None] * most
        self._seats: dict[int, dict[int, Seat]] = {}
        self._alive = np.zeros(most, np.bool_)
        self._unused = list(range(most - 1, -1, -1))
        self._top = 0

    def fill(
        self, strips: Sequence[Strip], sorts: Sequence[int], seats: Sequence[dict[int, Seat]]
    ) -> None:
        """Cut all strips of a plan and seat its replicas, on racks that are empty so far.

        Parameters
        ----------
        sorts : sequence of int
            Classes, by strip; -1 of one that nobody may join.
        seats : sequence of dict
            By strip, then by model; one at least.
        """
        count = len(strips)
        if not count:
            return
        nodes, own, shares, *_ = (
            np.array(column, np.int64) for column in zip(*strips, strict=True)
        )
        devices = self._first[nodes] + own
        held = [sum(seat.memory_bytes for seat in own.values()) for own in seats]
        np.subtract.at(self._free_percent, devices, shares)
        np.subtract.at(self._free_bytes, devices, np.array(held, np.int64))
        np.add.at(self._seats_on, nodes, np.array([len(own) for own in seats], np.int64))
        self._strips[:count] = strips
        self._seats = dict(enumerate(seats))
        self._device[:count], self._sort[:count], self._alive[:count] = devices, sorts, True
        self._load[:count] = [sum(seat.load for seat in own.values()) for own in seats]
        del self._unused[len(self._unused) - count :]
        self._top = count

    def reopen(self) -> None:
        """Close nobody but the lost."""
        self.closed[:] = False
        self.closed[self._lost] = True

    def strip(self, index: int) -> Strip:
        """A strip that is there."""
        found = self._strips[index]
        assert found is not None
        return found

    def seats(self, strip: int) -> dict[int, Seat]:
        """Who is in a strip, by model."""
        return self._seats[strip]

    def sort(self, strip: int) -> int:
        """Class of a strip; -1 of one that nobody may join."""
        return int(self._sort[strip])

    def room(self, strip: int) -> float:
        """Part of a strip that is free."""
        return float(_FULL - self._load[strip])

    def kind_of(self, node: int) -> int:
        """Index of a node's kind."""
        return int(self._device_kind[self._first[node]])

    def used_nodes(self) -> npt.NDArray[np.int64]:
        """Nodes with replicas, the emptiest first."""
        used = np.bincount(self.node_of, 100 - self._free_percent, len(self._seats_on))
        nodes = np.flatnonzero(self._seats_on)
        result: npt.NDArray[np.int64] = nodes[np.argsort(used[nodes], kind="stable")]
        return result

    def used_percent(self, node: int) -> int:
        """Of all its devices together."""
        own = self.node_of == node
        return int((100 - self._free_percent[own]).sum())

    def seats_on(self, node: int) -> int:
        """Replicas on a node."""
        return int(self._seats_on[node])

    def strips_on(self, node: int) -> Iterator[int]:
        """Strips of a node."""
        here = self.node_of[self._device[: self._top]] == node
        yield from np.flatnonzero(here & self._alive[: self._top]).tolist()

    def strips(self) -> Iterator[int]:
        """All strips."""
        yield from np.flatnonzero(self._alive).tolist()

    def joinable(self, loads: Floats, costs: Floats, memory_bytes: int, model: int) -> int:
        """The strip that a model joins at the least cost, the fullest of equals; -1 if none.

        Parameters
        ----------
        loads, costs : array of float
            By class.
        """
        sort = self._sort[: self._top]
        device = self._device[: self._top]
        load = loads[sort]
        good = (sort >= 0) & (self._load[: self._top] + load <= _FULL)
        good &= (self._free_bytes[device] >= memory_bytes) & ~self.closed[self.node_of[device]]
        places = np.flatnonzero(good)
        score = costs[sort[places]] * load[places] - 1e-6 * self._load[places]
        for place in places[np.argsort(score, kind="stable")].tolist():
            if model not in self._seats[place]:
                return int(place)
        return -1

    def free_percent(self, kind: int, memory_bytes: int) -> int:
        """The largest share that is free on a device in use that has the memory."""
        return int(self._free_percent[self._open_devices(kind, memory_bytes)].max(initial=0))

    def device_in_use(self, kind: int, share_percent: int, memory_bytes: int) -> int:
        """The device in use that such a strip fits best; -1 if none."""
        good = self._open_devices(kind, memory_bytes) & (self._free_percent >= share_percent)
        places = np.flatnonzero(good)
        return int(places[np.argmin(self._free_percent[places])]) if len(places) else -1

    def unused_device(self, kind: int, warm: bool = False) -> int:
        """The first device of a free node of a kind, if wanted a warm one; -1 if there is none."""
        free = (self._seats_on == 0) & ~self.closed & (self._device_kind[self._first] == kind)
        up = free & self._warm
        free = up if warm or up.any() else free
        place = int(free.argmax()) if len(free) else 0
        return int(self._first[place]) if len(free) and free[place] else -1

    def add(self, device: int, share_percent: int, period_ns: int, cyclic: bool, sort: int) -> int:
        """Cut a strip from what is free of a device."""
        index = self._unused.pop()
        self._top = max(self._top, index + 1)
        node = int(self.node_of[device])
        own = device - int(self._first[node])
        self._strips[index] = Strip(node, own, share_percent, period_ns, cyclic)
        self._seats[index], self._alive[index] = {}, False
        self._device[index], self._sort[index], self._load[index] = device, sort, 0.0
        self._free_percent[device] -= share_percent
        return index

    def device_of(self, node: int, device: int) -> int:
        """Number of a node's device over the whole fleet."""
        return int(self._first[node]) + device

    def seat(self, strip: int, model: int, seat: Seat) -> None:
        """Put a replica into a strip, in the place of the model's own if it has one there."""
        before = self._seats[strip].get(model)
        device = self._device[strip]
        self._seats[strip][model] = seat
        self._alive[strip] = True
        self._load[strip] += seat.load - (before.load if before else 0.0)
        self._free_bytes[device] -= seat.memory_bytes - (before.memory_bytes if before else 0)
        self._seats_on[self.node_of[device]] += before is None

    def set_rate(self, strip: int, model: int, rate_per_s: float) -> None:
        """Mean a replica for another rate; it takes what it took."""
        seats = self._seats[strip]
        seats[model] = seats[model]._replace(rate_per_s=rate_per_s)

    def unseat(self, strip: int, model: int) -> Seat:
        """Take a replica out; a strip that is empty then is no more."""
        seat = self._seats[strip].pop(model)
        device = self._device[strip]
        self._load[strip] -= seat.load
        self._free_bytes[device] += seat.memory_bytes
        self._seats_on[self.node_of[device]] -= 1
        if not self._seats[strip]:
            self._free_percent[device] += self.strip(strip).share_percent
            self._strips[strip], self._sort[strip], self._alive[strip] = None, -1, False
            self._unused.append(strip)
        return seat

    def plan(
        self, shortfalls: Sequence[Shortfall], warm: frozenset[int] = frozenset()
    ) -> ClusterPlan:
        """What has come about."""
        replicas: list[Replica] = []
        strips: list[Strip] = []
        for index in self.strips():
            for model, seat in self._seats[index].items():
                row = (model, len(strips), seat.batch, seat.rate_per_s, seat.memory_bytes)
                replicas.append(Replica(*row))
            strips.append(self.strip(index))
        return ClusterPlan(tuple(strips), tuple(replicas), tuple(shortfalls), warm)

    def _open_devices(self, kind: int, memory_bytes: int) -> npt.NDArray[np.bool_]:
        used = (self._seats_on > 0) & ~self.closed
        good = used[self.node_of] & (self._device_kind == kind)
        result: npt.NDArray[np.bool_] = good & (self._free_bytes >= memory_bytes)
        return result
