"""Service times of groups: what running several tasks as one segment takes.

Depends on: the tasks' own times per device and width, a factor for what fusion saves inside a
session, and the measured cost of a segment boundary. What was measured of a group itself counts
more than any of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surplus.engine.profiling.overheads import Overheads
from surplus.engine.segmentation.groups import TaskGroup, crossing
from surplus.placement.problem import Problem


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
    boundary_ns, wide_boundary_ns : int
        What starting one segment costs, of one lane and of more (``Overheads``).
    measured : mapping of Group to int
        Times of groups that were measured as segments in place, boundary included.
    submit_ns : mapping of int to int
        How long a segment keeps the submitting thread of its device before it can start.
    launch_ns : mapping of int to sequence of int
        How long each task keeps it, launched by itself; by device, of GPUs.
    captured_ns : mapping of int to sequence of (int or None)
        Service time of each task in a captured graph of operators; by device, of those that
        capture. None where a task cannot be captured (capture.py).
    least_captured : mapping of int to int
        Of how many operators a segment must be that is captured, at least; by device, 1 where it
        is not said.
    tensor_ns : mapping of int to int
        What each tensor costs that a segment takes over or hands on; by device, where known.
    segment_ns, operator_ns : mapping of int to int
        What a segment of a plan, and each operator in it, takes beyond times that were measured by
        repeating one thing, which is in the caches then; by device, where known.
    problem : Problem, optional
        Whose tensors these are.
    overheads : Overheads
        Of the profile that these times are from.
    """

    task_ns: Mapping[tuple[int, int], Sequence[int | None]]
    fusion: Mapping[tuple[int, int], float] = field(default_factory=dict)
    boundary_ns: int = Overheads().boundary_ns
    wide_boundary_ns: int = Overheads().wide_boundary_ns
    measured: Mapping[TaskGroup, int] = field(default_factory=dict)
    submit_ns: Mapping[int, int] = field(default_factory=dict)
    launch_ns: Mapping[int, Sequence[int]] = field(default_factory=dict)
    captured_ns: Mapping[int, Sequence[int | None]] = field(default_factory=dict)
    least_captured: Mapping[int, int] = field(default_factory=dict)
    tensor_ns: Mapping[int, int] = field(default_factory=dict)
    segment_ns: Mapping[int, int] = field(default_factory=dict)
    operator_ns: Mapping[int, int] = field(default_factory=dict)
    problem: Problem | None = None
    overheads: Overheads = field(default_factory=Overheads)

    @staticmethod
    def of(problem: Problem) -> ServiceTimes:
        """Only what the problem says: each task at its own width."""
        return ServiceTimes(
            {
                (d, 1): [task.service_ns[d] for task in problem.tasks]
                for d in range(len(problem.devices))
            },
            launch_ns={
                d: [task.launches_ns(d) for task in problem.tasks]
                for d in range(len(problem.devices))
                if any(task.launches_ns(d) for task in problem.tasks)
            },
        )

    def widths(self, device: int) -> list[int]:
        """Widths that the device was measured at, ascending."""
        return sorted(width for d, width in self.task_ns if d == device)

    def start_ns(self, width: int) -> int:
        """What starting a segment of this width costs."""
        return self.boundary_ns if width == 1 else self.wide_boundary_ns

    def in_plan_ns(self, tasks: Sequence[int], device: int) -> int:
        """What ``tasks`` as one segment of a plan take beyond their own times and its start."""
        cold_ns = self.segment_ns.get(device, 0) + len(tasks) * self.operator_ns.get(device, 0)
        each_ns = self.tensor_ns.get(device, 0)
        if self.problem is None or each_ns == 0:
            return cold_ns
        return cold_ns + each_ns * crossing(self.problem, tasks)

    def operator_in_plan_ns(self, task: int, device: int) -> int | None:
        """Time of a task at width 1 as part of a plan; None where the device cannot run it."""
        own_ns = self.task_ns[device, 1][task]
        return None if own_ns is None else own_ns + self.operator_ns.get(device, 0)

    def may_be_captured(self, tasks: Sequence[int], device: int) -> bool:
        """Whether all of ``tasks`` can be part of a captured graph."""
        row = self.captured_ns.get(device)
        return row is not None and all(row[task] is not None for task in tasks)

    def is_captured(self, tasks: Sequence[int], device: int) -> bool:
        """Whether ``tasks`` as one segment are submitted as one captured graph."""
        enough = len(tasks) >= self.least_captured.get(device, 1)
        return enough and self.may_be_captured(tasks, device)

    def launches_ns(self, tasks: Sequence[int], device: int) -> int:
        """How long ``tasks`` as one segment keep the submitting thread after their start."""
        row = self.launch_ns.get(device)
        if row is None or self.is_captured(tasks, device):
            return 0
        return sum(row[task] for task in tasks)

    def group_ns(self, tasks: Sequence[int], device: int, width: int) -> int:
        """Time of ``tasks`` as one segment, as their own times say.

        Raises
        ------
        ValueError
            If the device cannot run one of them.
        """
        if self.is_captured(tasks, device):
            return self._sum_ns(self.captured_ns[device], tasks, device, width)
        return self._sum_ns(self.task_ns[device, width], tasks, device, width)

    def uncaptured_ns(self, tasks: Sequence[int], device: int) -> int:
        """Time of ``tasks`` as one segment of width 1 whose operators are launched one by one."""
        return self._sum_ns(self.task_ns[device, 1], tasks, device, 1)

    def _sum_ns(
        self, row: Sequence[int | None], tasks: Sequence[int], device: int, width: int
    ) -> int:
        total = 0
        for task in tasks:
            time_ns = row[task]
            if time_ns is None:
                raise ValueError(f"task {task} cannot run on device {device}")
            total += time_ns
        own_ns = round(total * self.fusion.get((device, width), 1.0))
        return own_ns + self.start_ns(width) + self.in_plan_ns(tasks, device)

    def of_group(self, group: TaskGroup) -> int:
        """Time of a group at its own width, measured where it was."""
        known = self.measured.get(group)
        return self.group_ns(group.tasks, group.device, group.width) if known is None else known

    def hold_ns(self, group: TaskGroup) -> int:
        """How long a group holds up the one that follows it on its device.

        While one executes the next is submitted, so the longer of the two counts.
        """
        submit_ns = self.submit_ns.get(group.device, 0)
        return max(self.of_group(group), submit_ns + self.launches_ns(group.tasks, group.device))
