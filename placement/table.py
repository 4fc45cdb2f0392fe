"""What SIR+ shows of its placements in Tables 1 to 3, as data; printing is the caller's.

References
----------
SIR+ (SYSTOR 2022), Table 1: tasks moved, queueing per device, time; Table 2: time and utilisation
per device and of copies; Table 3: two policies on the tasks that both moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from surplus.placement.bounds import check_bound, lower_bounds
from surplus.placement.memory import memory_use
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import SimulatorParams, simulate
from surplus.placement.timeline import Span, SpanKind, Timeline


@dataclass(frozen=True)
class DeviceColumn:
    """One device in one placement.

    Parameters
    ----------
    tasks : int
        Tasks that ran there.
    queueing_ns : float
        Mean time from ready to started of these tasks; 0 if there are none.
    service_ns : int
        Sum of their service times.
    utilisation : float
        Busy lane-time over lanes times makespan, 0 to 1.
    memory_bytes : int
        Most that its memory holds at once, constants included; devices may share a memory.
    """

    device: str
    tasks: int
    queueing_ns: float
    service_ns: int
    utilisation: float
    memory_bytes: int


@dataclass(frozen=True)
class PlacementRow:
    """One placement, Tables 1 and 2.

    Parameters
    ----------
    tasks_moved : int
        Tasks that are not on their default device.
    queueing_ns : float
        Mean over all tasks.
    copies, copied_bytes, copy_ns : int
        Number, bytes and summed durations of all copies.
    lower_bound_ns : int
        No placement of this problem is faster.
    tasks_wide : int
        Tasks that take several lanes at once.
    """

    policy: str
    tasks_moved: int
    queueing_ns: float
    devices: tuple[DeviceColumn, ...]
    copies: int
    copied_bytes: int
    copy_ns: int
    makespan_ns: int
    lower_bound_ns: int
    tasks_wide: int = 0

    @property
    def gap(self) -> float:
        """Makespan over the lower bound, less one."""
        return self.makespan_ns / self.lower_bound_ns - 1 if self.lower_bound_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the gap."""
        return {**asdict(self), "gap": self.gap}


@dataclass(frozen=True)
class CommonRow:
    """One of two policies on the tasks that both moved, Table 3.

    Parameters
    ----------
    tasks_moved, tasks_common : int
        Tasks that this policy moved, and those that the other moved to the same device.
    queueing_ns, service_ns : float
        Means over the common tasks; 0 if there are none.
    copy_ns : int
        Summed durations of all copies.
    """

    policy: str
    tasks_moved: int
    tasks_common: int
    queueing_ns: float
    service_ns: float
    copy_ns: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def placement_table(
    problem: Problem, placements: Sequence[Placement], params: SimulatorParams | None = None
) -> tuple[PlacementRow, ...]:
    """Simulate each placement and describe it.

    Raises
    ------
    ContradictionError
        If a simulated makespan is below the lower bound.
    """
    bound_ns = lower_bounds(problem).makespan_ns
    rows = tuple(
        describe(problem, placement, simulate(problem, placement, params), bound_ns)
        for placement in placements
    )
    for row in rows:
        check_bound(bound_ns, row.makespan_ns, f"{problem.name}, policy {row.policy}")
    return rows


def describe(
    problem: Problem, placement: Placement, timeline: Timeline, lower_bound_ns: int
) -> PlacementRow:
    """Describe one query's timeline, simulated or measured, of ``placement``."""
    tasks = [span for span in timeline if span.kind is not SpanKind.COPY]
    copies = [span for span in timeline if span.kind is SpanKind.COPY]
    return PlacementRow(
        policy=placement.policy,
        tasks_moved=len(moved_tasks(problem, placement)),
        queueing_ns=_mean([span.queueing_ns for span in tasks]),
        devices=_columns(problem, placement, tasks, timeline),
        copies=len(copies),
        copied_bytes=sum(problem.tensors[span.index].size_bytes for span in copies),
        copy_ns=sum(span.duration_ns for span in copies),
        makespan_ns=timeline.makespan_ns,
        lower_bound_ns=lower_bound_ns,
        tasks_wide=sum(width > 1 for width in placement.widths(problem)),
    )


def common_table(
    problem: Problem, first: Placement, second: Placement, params: SimulatorParams | None = None
) -> tuple[CommonRow, CommonRow]:
    """Compare two placements on the tasks that both moved to the same device."""
    common = {
        task
        for task in moved_tasks(problem, first)
        if first.device_of[task] == second.device_of[task]
    }
    return (
        _common_row(problem, first, common, simulate(problem, first, params)),
        _common_row(problem, second, common, simulate(problem, second, params)),
    )


def moved_tasks(problem: Problem, placement: Placement) -> list[int]:
    """Tasks that are not on their default device, ascending."""
    pairs = zip(problem.tasks, placement.device_of, strict=True)
    return [index for index, (task, device) in enumerate(pairs) if device != task.default_device]


def _columns(
    problem: Problem, placement: Placement, tasks: Sequence[Span], timeline: Timeline
) -> tuple[DeviceColumn, ...]:
    uses = memory_use(problem, placement, timeline)
    columns = []
    for device in problem.devices:
        own = [span for span in tasks if span.resource == device.name]
        capacity_ns = device.lanes * timeline.makespan_ns
        columns.append(
            DeviceColumn(
                device=device.name,
                tasks=len(own),
                queueing_ns=_mean([span.queueing_ns for span in own]),
                service_ns=sum(span.duration_ns for span in own),
                utilisation=timeline.busy_ns(device.name) / capacity_ns if capacity_ns else 0.0,
                memory_bytes=uses[device.memory].peak_bytes,
            )
        )
    return tuple(columns)


def _common_row(
    problem: Problem, placement: Placement, common: set[int], timeline: Timeline
) -> CommonRow:
    spans = [s for s in timeline if s.kind is not SpanKind.COPY and s.index in common]
    return CommonRow(
        policy=placement.policy,
        tasks_moved=len(moved_tasks(problem, placement)),
        tasks_common=len(common),
        queueing_ns=_mean([span.queueing_ns for span in spans]),
        service_ns=_mean([span.duration_ns for span in spans]),
        copy_ns=sum(s.duration_ns for s in timeline if s.kind is SpanKind.COPY),
    )


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
