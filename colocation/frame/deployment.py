"""What a planner hands to a dispatcher: who may run where, how much at a time, how often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from surplus.colocation.frame.service import Partition, Service, ServingDevice


@dataclass(frozen=True)
class Assignment:
    """A service on a partition.

    Parameters
    ----------
    service, partition : int
    batch : int
        Items of a batch, as planned; a dispatcher that forms its own batches takes it as most.
    duty_ns : int, optional
        Length of the cycle in which the service has a turn; None without cycles.
    rate_per_s : float
        Queries a second that this assignment is meant to serve.
    took_ns : int
        Predicted time of a planned batch; 0 where the planner does not say.
    """

    service: int
    partition: int
    batch: int
    duty_ns: int | None = None
    rate_per_s: float = 0.0
    took_ns: int = 0


@dataclass(frozen=True)
class Shortfall:
    """A rate that no place was found for: which service, how much of it, and why."""

    service: int
    rate_per_s: float
    reason: str


@dataclass(frozen=True)
class Deployment:
    """Partitions of the devices, and the services on them.

    Parameters
    ----------
    partitions : tuple of Partition
    assignments : tuple of Assignment
        In the order in which a duty cycle visits them.
    shortfalls : tuple of Shortfall
        What the planner could not place; empty if it found room for every rate.
    on_demand : bool
        Whether partitions hold their share only while they run a group: they may add up to more
        than a device, what runs may not, and the dispatcher sees to it. Processes that are
        loaded side by side under MPS are such partitions.
    mode : str
        What a planner that knows several ways of serving tells its dispatcher: which of them this
        is made for. Empty where there is one.
    """

    partitions: tuple[Partition, ...]
    assignments: tuple[Assignment, ...]
    shortfalls: tuple[Shortfall, ...] = ()
    on_demand: bool = False
    mode: str = ""

    @cached_property
    def of_partition(self) -> tuple[tuple[Assignment, ...], ...]:
        """Assignments by partition."""
        return tuple(
            tuple(a for a in self.assignments if a.partition == index)
            for index in range(len(self.partitions))
        )

    @cached_property
    def served(self) -> frozenset[int]:
        """Services that have a place."""
        return frozenset(assignment.service for assignment in self.assignments)

    @cached_property
    def places(self) -> frozenset[tuple[int, int]]:
        """Services and the partitions that they may start in."""
        return frozenset((a.service, a.partition) for a in self.assignments)


def check_deployment(
    deployment: Deployment, services: tuple[Service, ...], devices: tuple[ServingDevice, ...]
) -> None:
    """Check a deployment against its devices, whoever made it.

    Raises
    ------
    ValueError
        If a device gives away more than 100 % or more memory than it has, a partition has no
        share or no device, or an assignment is of nothing or above its service's batch limit.
    """
    for index, partition in enumerate(deployment.partitions):
        if not 0 <= partition.device < len(devices):
            raise ValueError(f"partition {index}: there is no device {partition.device}")
        if not 1 <= partition.share_percent <= 100:
            raise ValueError(f"partition {index}: a share of {partition.share_percent} %")
    for assignment in deployment.assignments:
        _check_assignment(assignment, deployment, services)
    for index, device in enumerate(devices):
        _check_device(index, device, deployment, services)


def _check_assignment(
    assignment: Assignment, deployment: Deployment, services: tuple[Service, ...]
) -> None:
    if not 0 <= assignment.service < len(services):
        raise ValueError(f"there is no service {assignment.service}")
    if not 0 <= assignment.partition < len(deployment.partitions):
        raise ValueError(f"there is no partition {assignment.partition}")
    service = services[assignment.service]
    if not 1 <= assignment.batch <= service.max_batch:
        raise ValueError(f"service {service.name!r}: a batch of {assignment.batch}")


def _check_device(
    index: int, device: ServingDevice, deployment: Deployment, services: tuple[Service, ...]
) -> None:
    own = [k for k, p in enumerate(deployment.partitions) if p.device == index]
    share_percent = sum(deployment.partitions[k].share_percent for k in own)
    if share_percent > 100 and not deployment.on_demand:
        raise ValueError(f"device {device.name!r} gives away {share_percent} %")
    used_bytes = sum(services[service].memory_bytes for service in _loaded(own, deployment))
    if device.memory_bytes is not None and used_bytes > device.memory_bytes:
        text = f"{used_bytes} bytes are placed in {device.memory_bytes}"
        raise ValueError(f"device {device.name!r}: {text}")


def _loaded(own: list[int], deployment: Deployment) -> list[int]:
    """A service for each instance; partitions whose cores are claimed have the same one."""
    instances: list[int] = []
    shared: set[int] = set()
    for index in own:
        placed = [assignment.service for assignment in deployment.of_partition[index]]
        if deployment.partitions[index].cores:
            shared.update(placed)
        else:
            instances += placed
    return [*instances, *sorted(shared)]
