"""Temporal sharing: every device is one partition a lane, or one, and serves every service."""

from __future__ import annotations

from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition


@PLANNERS.register("whole")
class Whole:
    """Gives each service all devices; the dispatcher sorts out who runs when.

    Parameters
    ----------
    lanes : bool
        A partition for each lane of a device; without, one group at a time has all of it.
    """

    def __init__(self, lanes: bool = True) -> None:
        self._lanes = lanes

    def plan(self, demand: Demand) -> Deployment:
        """Ignore the rates: nothing is refused, so there are no shortfalls."""
        counts = [device.lanes if self._lanes else 1 for device in demand.devices]
        partitions = tuple(
            Partition(index, 100 // count)
            for index, count in enumerate(counts)
            for _ in range(count)
        )
        return Deployment(
            partitions=partitions,
            assignments=tuple(
                Assignment(index, partition, service.max_batch)
                for partition in range(len(partitions))
                for index, service in enumerate(demand.services)
            ),
        )
