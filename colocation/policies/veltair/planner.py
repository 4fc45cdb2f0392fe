"""Cores one by one: every group claims as many as its dispatcher gives it.

References
----------
VELTAIR (ASPLOS'22), section 4.3: workers that run layer blocks on the cores of a CPU.
"""

from __future__ import annotations

from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition


@PLANNERS.register("cores")
class Cores:
    """Of every device as many workers as it has cores, each for any service.

    A device whose cores are not told is one core for each of its lanes.

    Parameters
    ----------
    workers : int
        Of a device, at most; >= 1.

    Raises
    ------
    ValueError
        If there is to be no worker.
    """

    def __init__(self, workers: int = 64) -> None:
        if workers < 1:
            raise ValueError(f"workers must be >= 1, got {workers}")
        self._workers = workers

    def plan(self, demand: Demand) -> Deployment:
        """Ignore the rates: nothing is refused, so there are no shortfalls."""
        partitions = []
        for index, device in enumerate(demand.devices):
            cores = device.cores or device.lanes
            workers = min(cores, self._workers)
            partitions += [Partition(index, 100, cores=cores)] * workers
        assignments = tuple(
            Assignment(index, place, service.max_batch)
            for place in range(len(partitions))
            for index, service in enumerate(demand.services)
        )
        return Deployment(tuple(partitions), assignments, on_demand=True)
