"""Temporal sharing: every device is one partition, and serves every service."""

from __future__ import annotations

from colocation.deployment import Assignment, Deployment
from colocation.planner import PLANNERS, Demand
from colocation.service import Partition


@PLANNERS.register("whole")
class Whole:
    """Gives each service all devices; the dispatcher sorts out who runs when."""

    def plan(self, demand: Demand) -> Deployment:
        """Ignore the rates: nothing is refused, so there are no shortfalls."""
        devices = range(len(demand.devices))
        return Deployment(
            partitions=tuple(Partition(device) for device in devices),
            assignments=tuple(
                Assignment(index, device, service.max_batch)
                for device in devices
                for index, service in enumerate(demand.services)
            ),
        )
