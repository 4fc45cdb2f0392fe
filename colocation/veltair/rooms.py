"""Free cores and free workers of each device, at one instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colocation.state import State


@dataclass
class Room:
    """What of a device is free.

    Parameters
    ----------
    device : int
    cores, free : int
        All of it, and what nobody holds; fewer than none while a larger device is replaced.
    worker : int
        Partition to start in.
    """

    device: int
    cores: int
    free: int
    worker: int


def room_for(state: State, service: int) -> Room | None:
    """The device with most free cores among those where a service may start now."""
    rooms = [room for room in _rooms(state, service) if room.free > 0]
    return max(rooms, key=lambda room: (room.free, -room.device), default=None)


def free_beside(state: State, partition: int) -> int:
    """Free cores of the device that a partition is on."""
    own = state.deployment.partitions[partition]
    return own.cores - _held(state, own.device)


def largest(counts: Sequence[int], most: int) -> int:
    """The largest of ascending numbers of cores that is not above a bound; 0 if none is."""
    found = 0
    for count in counts:
        if count > most:
            break
        found = count
    return found


def _rooms(state: State, service: int) -> list[Room]:
    """One for each device that has a free worker for a service."""
    found: dict[int, Room] = {}
    places = state.deployment.places
    for place, partition in enumerate(state.deployment.partitions):
        device = partition.device
        if device not in found and state.running[place] is None and (service, place) in places:
            free = partition.cores - _held(state, device)
            found[device] = Room(device, partition.cores, free, place)
    return list(found.values())


def _held(state: State, device: int) -> int:
    partitions = state.deployment.partitions
    return sum(
        group.cores
        for group in state.running
        if group is not None and partitions[group.partition].device == device
    )
