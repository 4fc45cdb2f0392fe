"""Heads and tails: the earliest start and the least remaining time of each task on each device.

Both are valid whatever the lanes, the order and the contention on links, since they count only
what any schedule has to do: one path, or the load of all ancestors (descendants).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surplus.milp.closure import ancestors, descendants, matrix
from surplus.milp.priced_loads import priced_loads
from surplus.placement.problem import Problem

LOAD_TASKS_MAX = 4_000
"""Above this, ancestor loads (quadratic in the tasks) are left out; paths alone stay valid."""

Devices = tuple[tuple[int, ...], ...]
"""Device indices that each task may still use, ascending, by task."""


@dataclass(frozen=True)
class Windows:
    """What is known of each task before it is placed.

    Parameters
    ----------
    devices : tuple of tuple of int
        Devices that each task may use.
    head_ns, tail_ns : tuple of dict of int to int
        By task and device: no schedule starts the task there before its head; none ends earlier
        than its tail after the task ended there.
    """

    devices: Devices
    head_ns: tuple[dict[int, int], ...]
    tail_ns: tuple[dict[int, int], ...]

    def least_head_ns(self, task: int) -> int:
        """Earliest start on any device."""
        return min(self.head_ns[task].values())

    def least_tail_ns(self, task: int) -> int:
        """Least time after its end, on any device."""
        return min(self.tail_ns[task].values())

    def through_ns(self, problem: Problem, task: int, device: int) -> int:
        """Least makespan of a schedule that runs ``task`` on ``device``."""
        return (
            self.head_ns[task][device]
            + service_ns(problem, task, device)
            + self.tail_ns[task][device]
        )


def service_ns(problem: Problem, task: int, device: int) -> int:
    """Least service time on an eligible device."""
    time_ns = problem.least_service_ns[task][device]
    assert time_ns is not None, "only eligible devices are asked for"
    return time_ns


def eligible_devices(problem: Problem) -> Devices:
    """Devices that can run each task."""
    return tuple(
        tuple(d for d, time_ns in enumerate(task.service_ns) if time_ns is not None)
        for task in problem.tasks
    )


def time_windows(problem: Problem, devices: Devices) -> Windows:
    """Compute heads forwards and tails backwards over the task graph."""
    before, after = _related_loads(problem, devices)
    heads = _heads(problem, devices, before)
    tails = _tails(problem, devices, after)
    return Windows(devices, tuple(heads), tuple(tails))


def _heads(problem: Problem, devices: Devices, loads: Sequence[int]) -> list[dict[int, int]]:
    heads: list[dict[int, int]] = []
    for task, choices in enumerate(devices):
        heads.append(
            {d: max(loads[task], _arrival_ns(problem, devices, heads, task, d)) for d in choices}
        )
    return heads


def _arrival_ns(
    problem: Problem, devices: Devices, heads: list[dict[int, int]], task: int, device: int
) -> int:
    """When the inputs of a task can be there at the earliest, each from its best device."""
    latest = 0
    for index in problem.inputs_of[task]:
        tensor = problem.tensors[index]
        if tensor.producer < 0:
            there = problem.copy_ns(0, device, tensor.size_bytes)
        else:
            there = min(
                heads[tensor.producer][d]
                + service_ns(problem, tensor.producer, d)
                + problem.copy_ns(d, device, tensor.size_bytes)
                for d in devices[tensor.producer]
            )
        latest = max(latest, there)
    return latest


def _tails(problem: Problem, devices: Devices, loads: Sequence[int]) -> list[dict[int, int]]:
    tails: list[dict[int, int]] = [{} for _ in devices]
    for task in reversed(range(len(devices))):
        tails[task] = {
            d: max(loads[task], _remainder_ns(problem, devices, tails, task, d))
            for d in devices[task]
        }
    return tails


def _remainder_ns(
    problem: Problem, devices: Devices, tails: list[dict[int, int]], task: int, device: int
) -> int:
    """Longest way from a task's end to the end, each consumer on its best device."""
    longest = 0
    for index in problem.outputs_of[task]:
        tensor = problem.tensors[index]
        if tensor.is_output:
            longest = max(longest, problem.copy_ns(device, 0, tensor.size_bytes))
        for consumer in tensor.consumers:
            rest = min(
                problem.copy_ns(device, d, tensor.size_bytes)
                + service_ns(problem, consumer, d)
                + tails[consumer][d]
                for d in devices[consumer]
            )
            longest = max(longest, rest)
    return longest


def _related_loads(problem: Problem, devices: Devices) -> tuple[list[int], list[int]]:
    """Load bounds of the tasks that must all be done before each task, and after it."""
    count = len(devices)
    if count > LOAD_TASKS_MAX:
        return [0] * count, [0] * count
    loads = priced_loads(problem, devices)
    before, after = (
        [int(time_ns) for time_ns in loads.of(matrix(related(problem), count))]
        for related in (ancestors, descendants)
    )
    return before, after
