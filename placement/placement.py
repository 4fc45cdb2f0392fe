"""The result of a policy: which device runs each task, on how many lanes, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surplus.placement.hold_check import check_holds
from surplus.placement.holds import CopyHold, Hold
from surplus.placement.problem import Problem
from surplus.placement.widths import check_widths


@dataclass(frozen=True)
class Placement:
    """Task -> device, with a start order.

    Parameters
    ----------
    device_of : tuple of int
        Device index of each task, by task index.
    priority : tuple of int
        Rank of each task in the planned start order: lower starts first. Unique.
    policy : str
        Who made it.
    width_of : tuple of int
        Lanes that each task takes at once; empty means the narrowest that it can.
    holds, copy_holds : tuple
        Who waits for something more urgent that is not ready yet; empty where no lane and no link
        idles on purpose.
    """

    device_of: tuple[int, ...]
    priority: tuple[int, ...]
    policy: str
    width_of: tuple[int, ...] = ()
    holds: tuple[Hold, ...] = ()
    copy_holds: tuple[CopyHold, ...] = ()

    def without_holds(self) -> Placement:
        """The same for a runtime that does not know them."""
        return replace(self, holds=(), copy_holds=())

    def widths(self, problem: Problem) -> tuple[int, ...]:
        """Lanes of each task on its device."""
        pairs = zip(problem.tasks, self.device_of, strict=True)
        return self.width_of or tuple(task.width(device) for task, device in pairs)

    def check(self, problem: Problem) -> None:
        """Raise ValueError, naming the task, if this cannot be run on ``problem``."""
        if len(self.device_of) != len(problem.tasks) or len(self.priority) != len(problem.tasks):
            raise ValueError(
                f"placement has {len(self.device_of)} devices and {len(self.priority)} priorities"
                f" for {len(problem.tasks)} tasks"
            )
        for task, device in zip(problem.tasks, self.device_of, strict=True):
            if not 0 <= device < len(problem.devices):
                raise ValueError(f"task {task.name!r}: device {device} is unknown")
            if task.service_ns[device] is None:
                raise ValueError(
                    f"task {task.name!r} cannot run on device {problem.devices[device].name!r}"
                )
        if len(set(self.priority)) != len(self.priority):
            raise ValueError("placement: two tasks have the same priority")
        if self.width_of:
            check_widths(problem, self)
        if self.holds or self.copy_holds:
            check_holds(problem, self)
