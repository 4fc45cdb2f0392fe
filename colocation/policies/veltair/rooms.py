"""Free cores and free workers of each device, at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from surplus.colocation.frame.state import State

_NOTHING: Mapping[int, int] = MappingProxyType({})


@dataclass
class Room:
    """What of a device is free.

    Parameters
    ----------
    device : int
    cores, free : int
        All of it, and what nobody holds.
    worker : int
        Partition to start in.
    """

    device: int
    cores: int
    free: int
    worker: int


def room_for(state: State, service: int, returned: Mapping[int, int] = _NOTHING) -> Room | None:
    """The device with most free cores among those where a service may start now.

    Parameters
    ----------
    returned : mapping
        By device, cores that are held and may be given back: they count as free ones do.

    Returns
    -------
    Room or None
        None if none has a core.
    """
    partitions, places = state.deployment.partitions, state.deployment.places
    held: dict[int, int] = {}
    workers: dict[int, int] = {}
    for place, group in enumerate(state.running):
        device = partitions[place].device
        if group is not None:
            held[device] = held.get(device, 0) + group.cores
        elif device not in workers and (service, place) in places:
            workers[device] = place
    best: Room | None = None
    most = 0
    for device, worker in workers.items():
        cores = partitions[worker].cores
        free = cores - held.get(device, 0)
        if free + returned.get(device, 0) > most:
            most = free + returned.get(device, 0)
            best = Room(device, cores, free, worker)
    return best


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


def _held(state: State, device: int) -> int:
    partitions = state.deployment.partitions
    return sum(
        group.cores
        for group in state.running
        if group is not None and partitions[group.partition].device == device
    )
