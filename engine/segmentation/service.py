"""Service times of groups: what running several tasks as one segment takes.

Depends on: the tasks' own times per device and width, a factor for what fusion saves inside a
session, and the measured cost of a segment boundary. What was measured of a group itself counts
more than any of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.segmentation.groups import Group
from placement.problem import Problem


@dataclass(frozen=True)
class ServiceTimes:
    """Service time of every task on every device and width.

    Parameters
    ----------
    task_ns : mapping of (device, width) to sequence of (int or None)
        By task index; every device has width 1.
    fusion : mapping of (device, width) to float
        Time of the whole model in one session over the sum of its tasks' own times: below 1
        where operators are fused, above it where dispatch within the session outweighs tiny
        operators. 1 where unknown.
    boundary_ns : int
        What starting one segment costs more than running its operators, 650 ns measured for
        an ONNX Runtime session on a CPU.
    wide_boundary_ns : int
        The same for a segment of more than one lane: lanes are collected and a thread pool is
        woken. Also keeps noise from making a tiny segment wide.
    measured : mapping of Group to int
        Times of groups that were measured as segments in place, boundary included.
    """

    task_ns: Mapping[tuple[int, int], Sequence[int | None]]
    fusion: Mapping[tuple[int, int], float] = field(default_factory=dict)
    boundary_ns: int = 650
    wide_boundary_ns: int = 20_000
    measured: Mapping[Group, int] = field(default_factory=dict)

    @staticmethod
    def of(problem: Problem) -> ServiceTimes:
        """Only what the problem says: each task at its own width."""
        return ServiceTimes(
            {
                (d, 1): [task.service_ns[d] for task in problem.tasks]
                for d in range(len(problem.devices))
            }
        )

    def widths(self, device: int) -> list[int]:
        """Widths that the device was measured at, ascending."""
        return sorted(width for d, width in self.task_ns if d == device)

    def start_ns(self, width: int) -> int:
        """What starting a segment of this width costs."""
        return self.boundary_ns if width == 1 else self.wide_boundary_ns

    def group_ns(self, tasks: Sequence[int], device: int, width: int) -> int:
        """Time of ``tasks`` as one segment, as their own times say.

        Raises
        ------
        ValueError
            If the device cannot run one of them.
        """
        row = self.task_ns[device, width]
        total = 0
        for task in tasks:
            time_ns = row[task]
            if time_ns is None:
                raise ValueError(f"task {task} cannot run on device {device}")
            total += time_ns
        return round(total * self.fusion.get((device, width), 1.0)) + self.start_ns(width)

    def of_group(self, group: Group) -> int:
        """Time of a group at its own width, measured where it was."""
        known = self.measured.get(group)
        return self.group_ns(group.tasks, group.device, group.width) if known is None else known
