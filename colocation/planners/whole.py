"""Temporal sharing: every device is one partition a lane, and serves every service."""

from __future__ import annotations

from colocation.deployment import Assignment, Deployment
from colocation.planner import PLANNERS, Demand
from colocation.service import Partition


@PLANNERS.register("whole")
class Whole:
    """Gives each service all devices; the dispatcher sorts out who runs when."""

    def plan(self, demand: Demand) -> Deployment:
        """Ignore the rates: nothing is refused, so there are no shortfalls."""
        partitions = tuple(
            Partition(index, 100 // device.lanes)
            for index, device in enumerate(demand.devices)
            for _ in range(device.lanes)
        )
        return Deployment(
            partitions=partitions,
            assignments=tuple(
                Assignment(index, partition, service.max_batch)
                for partition in range(len(partitions))
                for index, service in enumerate(demand.services)
            ),
        )
