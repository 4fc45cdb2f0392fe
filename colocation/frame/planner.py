"""The extension point of planners: which service gets what share of which device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.registry import Registry
from surplus.colocation.frame.service import Service, ServingDevice


@dataclass(frozen=True)
class Demand:
    """What a planner plans for.

    Parameters
    ----------
    services : tuple of Service
    profiles : tuple of LatencyProfile
        By service.
    rates_per_s : tuple of float
        Expected queries a second, by service.
    items : tuple of int
        Items that a query brings, at most, by service.
    sequences : tuple of int
        Longest sequence, by service.
    devices : tuple of ServingDevice
    previous : Deployment, optional
        The one that serves now, when a planner is asked again: only partitions in use.
    hurried : bool
        Whether queries wait for the answer: an early plan is better than the best one.
    """

    services: tuple[Service, ...]
    profiles: tuple[LatencyProfile, ...]
    rates_per_s: tuple[float, ...]
    items: tuple[int, ...]
    sequences: tuple[int, ...]
    devices: tuple[ServingDevice, ...]
    previous: Deployment | None = None
    hurried: bool = False

    def latency_ns(self, service: int, items: int, share_percent: int = 100) -> int:
        """Profiled time of a batch of the longest sequences."""
        return self.profiles[service].latency_ns(items, self.sequences[service], share_percent)

    def least_items(self, service: int) -> int:
        """Of a batch that every query that is served at all fits into."""
        return min(self.items[service], self.services[service].max_batch)

    def shares(self, service: int, items: int) -> tuple[int, ...]:
        """Shares in percent on which a batch has a time, ascending: of a CPU, whole lanes.

        Raises
        ------
        ValueError
            If there is none; what the profile says of the whole device.
        """
        found = tuple(s for s in range(1, 101) if self._has_time(service, items, s))
        if not found:
            self.latency_ns(service, items)
        return found

    def _has_time(self, service: int, items: int, share_percent: int) -> bool:
        try:
            self.latency_ns(service, items, share_percent)
        except ValueError:
            return False
        return True


class Planner(Protocol):
    """A pure function of the demand."""

    def plan(self, demand: Demand) -> Deployment:
        """Partition the devices and place the services.

        What does not fit is a ``Shortfall`` of the deployment, never an error: a server with
        too much load still serves what it can.
        """
        ...


PLANNERS: Registry[Planner] = Registry("planner")
"""Factories take options only."""
