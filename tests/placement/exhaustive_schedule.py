"""The optimum of a small problem, by a search that shares nothing with bounds and simulator.

For each choice of devices, tasks and copies are put one by one on lanes and links. At each step
only those compete that could start before the earliest possible end of all that is left: who lets
a lane idle for longer than that could have been put before it for nothing. Of several that use one
device or link the one that starts first is put first, so lanes that are free are alike.

References
----------
Giffler, Thompson: Algorithms for solving production-scheduling problems, 1960 (active schedules).
Departures: several lanes, wide tasks, and latency, for which a link is free already.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from math import inf

from surplus.placement.random_graphs import small_random
from tests.placement.exhaustive import able_devices


@dataclass
class Item:
    """A task or a copy."""

    resource: str
    hold_ns: int
    latency_ns: int = 0
    width: int = 1
    before: set[int] = field(default_factory=set)
    tail_ns: int = 0


@dataclass(frozen=True)
class Optimum:
    """Length, devices and starts by task of a best schedule."""

    makespan_ns: float
    devices: tuple[int, ...] = ()
    starts_ns: tuple[int, ...] = ()


def instance(seed):
    """A random problem of two to six tasks on two devices, every other one with slow links."""
    problem = small_random(seed, 2 + seed % 5)
    if seed % 2:
        problem = replace(problem, links=tuple(_slow(link) for link in problem.links))
    return problem


def _slow(link):
    """A byte takes about as long as a hundredth of a task."""
    return replace(link, bytes_per_s=3e9)


def optimum(problem):
    """A best schedule of any; memory limits and what only a simulator knows must not be there."""
    best = Optimum(inf)
    for devices in product(*able_devices(problem)):
        best = _Search(problem, devices, best).run()
    return best


class _Search:
    def __init__(self, problem, devices, best):
        self._problem = problem
        self._devices = devices
        self._best = best
        self._count = len(problem.tasks)
        self._items = [
            Item(problem.devices[d].name, task.service_ns[d], width=task.width(d))
            for task, d in zip(problem.tasks, devices, strict=True)
        ]
        for tensor in problem.tensors:
            self._connect(tensor)
        for index in reversed(self._order()):
            item = self._items[index]
            for other in item.before:
                rest = item.hold_ns + item.latency_ns + item.tail_ns
                self._items[other].tail_ns = max(self._items[other].tail_ns, rest)

    def run(self):
        lanes = {device.name: [0] * device.lanes for device in self._problem.devices}
        lanes |= {link.name: [0] for link in self._problem.links}
        self._put_next(lanes, dict.fromkeys(lanes, 0), {}, 0)
        return self._best

    def _memory(self, task):
        return self._problem.devices[self._devices[task] if task >= 0 else 0].memory

    def _connect(self, tensor):
        """Let consumers wait for the producer, or for a copy that does."""
        home, made = self._memory(tensor.producer), {tensor.producer} - {-1}
        readers = {}
        for task in tensor.consumers:
            readers.setdefault(self._memory(task), []).append(task)
        if tensor.is_output:
            readers.setdefault(self._memory(-1), [])
        for memory, tasks in readers.items():
            source = made
            if memory != home and tensor.size_bytes:
                link = self._problem.links_by_name[f"{home}->{memory}"]
                hold_ns = link.occupancy_ns + round(tensor.size_bytes * 1e9 / link.bytes_per_s)
                self._items.append(Item(link.name, hold_ns, link.latency_ns, before=made))
                source = {len(self._items) - 1}
            for task in tasks:
                self._items[task].before |= source

    def _order(self):
        """A topological one."""
        done = []
        while len(done) < len(self._items):
            done += [
                i for i, item in enumerate(self._items) if i not in done and item.before <= {*done}
            ]
        return done

    def _put_next(self, lanes, last, starts, makespan):
        if len(starts) == len(self._items):
            if makespan < self._best.makespan_ns:
                tasks = tuple(starts[task] for task in range(self._count))
                self._best = Optimum(makespan, self._devices, tasks)
            return
        soonest = {
            index: self._soonest(item, lanes, last, starts)
            for index, item in enumerate(self._items)
            if index not in starts and item.before <= starts.keys()
        }
        first = min(soonest, key=lambda i: (soonest[i] + self._items[i].hold_ns, i))
        until, resource = soonest[first] + self._items[first].hold_ns, self._items[first].resource
        for index, start in sorted(soonest.items(), key=lambda row: row[1]):
            item = self._items[index]
            end = start + item.hold_ns
            if item.resource != resource or not (start < until or index == first):
                continue
            if end + item.latency_ns + item.tail_ns >= self._best.makespan_ns:
                continue
            free = sorted([*lanes[resource][item.width :], *[end] * item.width])
            self._put_next(
                {**lanes, resource: free},
                {**last, resource: start},
                {**starts, index: start},
                max(makespan, end + item.latency_ns),
            )

    def _soonest(self, item, lanes, last, starts):
        ready = max((self._done(other, starts) for other in item.before), default=0)
        return max(ready, last[item.resource], lanes[item.resource][item.width - 1])

    def _done(self, index, starts):
        item = self._items[index]
        return starts[index] + item.hold_ns + item.latency_ns
