"""How long one query holds each resource: what limits how many queries a second there can be.

Lanes, the thread that submits to a GPU and copy engines each serve one thing at a time, whoever it
is for. However queries overlap, no more of them end in a second than the busiest resource can
serve: with D nanoseconds of it a query, at most one each D (the bottleneck law). Below that, n
queries that overlap end n in the time of one; both meet at makespan / D queries.

References
----------
Lazowska, Zahorjan, Graham, Sevcik: Quantitative System Performance, 1984, chapter 5 (asymptotic
bounds). Departure: lanes that slow each other count as fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from surplus.placement.overflow import HOST
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem
from surplus.placement.widths import molded

Held = tuple[str, float]
"""A resource, and for how many nanoseconds it is held."""


def occupancy_ns(problem: Problem, placement: Placement) -> dict[str, int]:
    """Nanoseconds a query of each resource that it uses: a device's lanes, thread, or a link."""
    found = Occupancy(molded(problem, placement), placement.device_of)
    return {name: round(ns) for name, ns in found.held_ns.items() if ns > 0}


def bottleneck(occupancy: Mapping[str, float]) -> str:
    """The busiest resource; the first by name of equal ones."""
    return min(occupancy, key=lambda name: (-occupancy[name], name))


def busiest_of(problem: Problem, placement: Placement) -> tuple[str, int]:
    """The busiest resource, and the least whole nanoseconds that are enough for it; '' and 0."""
    return Occupancy(molded(problem, placement), placement.device_of).busiest()


def effective_lanes(device: Device) -> float:
    """How many lanes that do not slow each other would do as much as all of these."""
    if not device.slowdown:
        return device.lanes
    return _together(device, crowded_lanes(device))


def crowded_lanes(device: Device) -> int:
    """How many lanes together do the most where they slow each other; the fewest of equal ones."""
    if not device.slowdown:
        return device.lanes
    return max(range(1, device.lanes + 1), key=lambda n: (_together(device, n), -n))


def _together(device: Device, lanes: int) -> float:
    return lanes / device.slowdown[min(lanes, len(device.slowdown)) - 1]


def off_host(problem: Problem, link: Link) -> str:
    """The end of a link whose device's thread pageable copies hold."""
    host = problem.devices[HOST].memory
    return link.source if link.target == host else link.target


def thread_name(device: Device) -> str:
    """Of the one that submits to a device."""
    return f"{device.name} submission"


class Occupancy:
    """What each resource is held for, kept up to date while tasks change places.

    Parameters
    ----------
    device_of : sequence of int
        Device of each task.
    """

    def __init__(self, problem: Problem, device_of: Sequence[int]) -> None:
        self._problem = problem
        self._lanes = [effective_lanes(device) for device in problem.devices]
        self._host = problem.devices[HOST].memory
        self.device_of = list(device_of)
        self.held_ns = dict.fromkeys(_resources(problem), 0.0)
        for task in range(len(problem.tasks)):
            self._add(self._of_task(task), 1)
        for tensor in range(len(problem.tensors)):
            self._add(self._of_copies(tensor), 1)

    def move(self, task: int, device: int) -> None:
        """Put a task elsewhere; its service time there must be known."""
        touched = {*self._problem.inputs_of[task], *self._problem.outputs_of[task]}
        for sign in (-1, 1):
            self._add(self._of_task(task), sign)
            for tensor in touched:
                self._add(self._of_copies(tensor), sign)
            self.device_of[task] = device

    def busiest(self) -> tuple[str, int]:
        """The busiest resource, and the least whole nanoseconds that are enough for it; '' and 0.

        Less what sums of fractions of lanes are off by.
        """
        name = bottleneck(self.held_ns)
        held_ns = self.held_ns[name]
        return (name, ceil(held_ns - 1e-6)) if held_ns > 0 else ("", 0)

    def load(self) -> tuple[float, ...]:
        """All occupancies, the largest first: the smaller of two, compared as tuples, is better.

        Rounded, so that a move there and back leaves no trace.
        """
        return tuple(sorted((round(ns) for ns in self.held_ns.values()), reverse=True))

    def _add(self, held: Iterator[Held], sign: int) -> None:
        for name, ns in held:
            self.held_ns[name] += sign * ns

    def _of_task(self, index: int) -> Iterator[Held]:
        here = self.device_of[index]
        device, task = self._problem.devices[here], self._problem.tasks[index]
        service_ns = task.service_ns[here] or 0
        yield device.name, service_ns * task.width(here) / self._lanes[here]
        yield thread_name(device), device.submit_ns + task.launches_ns(here)

    def _of_copies(self, index: int) -> Iterator[Held]:
        tensor = self._problem.tensors[index]
        source = HOST if tensor.producer < 0 else self.device_of[tensor.producer]
        readers = [self.device_of[task] for task in tensor.consumers] + [HOST] * tensor.is_output
        by_memory = {self._problem.devices[reader].memory: reader for reader in readers}
        for target in by_memory.values():
            link = self._problem.link(source, target)
            if link is None or tensor.size_bytes == 0:
                continue
            hold_ns = link.hold_ns(tensor.size_bytes)
            yield link.name, hold_ns
            if link.pageable:
                away = source if self._problem.devices[target].memory == self._host else target
                yield thread_name(self._problem.devices[away]), hold_ns


def _resources(problem: Problem) -> Iterator[str]:
    for device in problem.devices:
        yield from (device.name, thread_name(device))
    for link in problem.links:
        yield link.name
