"""What a planner of a cluster says: devices cut into strips, and replicas of models in them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from surplus.colocation.frame.deployment import Shortfall


class Strip(NamedTuple):
    """A share of a device that runs one batch at a time; its replicas take turns.

    Parameters
    ----------
    node, device : int
        The device is one of the node's.
    share_percent : int
        1 to 100, of the device's computing power.
    period_ns : int
        With ``cyclic`` the time within which each replica has a turn. Otherwise how long a query
        may have to wait at most; queries are taken as they come, and wait as long but rarely.
    cyclic : bool
    """

    node: int
    device: int
    share_percent: int
    period_ns: int
    cyclic: bool


class Replica(NamedTuple):
    """A turn of a model in a strip; gpulet's merging may give it several.

    Parameters
    ----------
    model : int
    strip : int
        Index of the plan's strip.
    batch : int
        Queries of a turn, at most.
    rate_per_s : float
        Queries a second that it is meant for; where others share the strip, and it is not
        cyclic, what it admits at most.
    memory_bytes : int
        That it holds on the device.
    """

    model: int
    strip: int
    batch: int
    rate_per_s: float
    memory_bytes: int


class ModelCopy(NamedTuple):
    """A copy of a model on a device, counted from 0 there."""

    model: int
    node: int
    device: int
    copy: int


@dataclass(frozen=True)
class ClusterPlan:
    """Who serves what.

    Parameters
    ----------
    strips : tuple of Strip
    replicas : tuple of Replica
    shortfalls : tuple of Shortfall
        Rates, by model, that no place was found for.
    warm : frozenset of int
        Nodes that are kept up without replicas.
    """

    strips: tuple[Strip, ...] = ()
    replicas: tuple[Replica, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    warm: frozenset[int] = frozenset()

    @cached_property
    def nodes(self) -> frozenset[int]:
        """Nodes in use."""
        return frozenset(self.strips[replica.strip].node for replica in self.replicas)

    @property
    def held(self) -> frozenset[int]:
        """Nodes in use, and those that are kept up."""
        return self.nodes | self.warm

    @cached_property
    def place_of(self) -> tuple[ModelCopy, ...]:
        """What each replica needs loaded where."""
        copies: dict[tuple[int, int, int], int] = defaultdict(int)
        places = []
        for replica in self.replicas:
            node, device, *_ = self.strips[replica.strip]
            places.append(
                ModelCopy(replica.model, node, device, copies[replica.model, node, device])
            )
            copies[replica.model, node, device] += 1
        return tuple(places)

    @cached_property
    def places(self) -> frozenset[ModelCopy]:
        """All of them."""
        return frozenset(self.place_of)

    def moves_from(self, before: ClusterPlan) -> int:
        """Replicas that have to be loaded where they were not before."""
        return len(self.places - before.places)
