"""Whether all times and all bytes of a problem together are numbers that all sums can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from surplus.placement.field_checks import END, ProblemError
from surplus.placement.machine_check import owner_of
from surplus.placement.widths import times_at

if TYPE_CHECKING:
    from surplus.placement.problem import Link, Problem, Task

_NS_PER_S = 1e9


def check_totals(problem: Problem) -> None:
    """Raise ProblemError, naming the field that is too large, or the largest of too many."""
    worst = [max((1.0, *device.slowdown)) for device in problem.devices]
    tasks = [_longest_ns(problem, task, worst) for task in problem.tasks]
    copies = [_copies_ns(problem, link) for link in problem.links]
    total_ns = sum(tasks) + sum(copies)
    if not total_ns < END:
        raise ProblemError(
            f"{_largest(problem, tasks, copies)}: all tasks and copies one after another take"
            f" {total_ns:.4g} ns, which must be below 2^53"
        )
    _check_bytes(problem)


def _longest_ns(problem: Problem, task: Task, worst: Sequence[float]) -> float:
    """Most lane-time that a task can take on any device, its submission included."""
    return max(
        max((width * ns for width, ns in times_at(task, index)), default=0) * worst[index]
        + device.submit_ns
        + task.launches_ns(index)
        for index, device in enumerate(problem.devices)
    )


def _copies_ns(problem: Problem, link: Link) -> float:
    """Time of a copy of each tensor over a link."""
    fixed_ns, total_ns = link.occupancy_ns + link.latency_ns, 0.0
    for tensor in problem.tensors:
        if tensor.size_bytes:
            copy_ns = fixed_ns + tensor.size_bytes * _NS_PER_S / link.bytes_per_s
            if not copy_ns < END:
                raise ProblemError(
                    f"{owner_of(link)}: bytes_per_s {link.bytes_per_s:g}: a copy of tensor"
                    f" {tensor.name!r} takes {copy_ns:.4g} ns, which must be below 2^53"
                )
            total_ns += copy_ns
    return total_ns


def _largest(problem: Problem, tasks: list[float], copies: list[float]) -> str:
    worst = max([*tasks, *copies])
    if worst in tasks:
        return f"task {problem.tasks[tasks.index(worst)].name!r}: service_ns"
    return f"{owner_of(problem.links[copies.index(worst)])}: bytes_per_s"


def _check_bytes(problem: Problem) -> None:
    total = sum(task.weight_bytes for task in problem.tasks)
    total += sum(tensor.size_bytes for tensor in problem.tensors)
    total += sum(blob.size_bytes for blob in problem.blobs)
    if total >= END:
        _, largest = max(_sizes(problem))
        raise ProblemError(
            f"{largest}: all sizes together are {total:.4g} bytes, which must be below 2^53"
        )


def _sizes(problem: Problem) -> Iterator[tuple[int, str]]:
    for task in problem.tasks:
        yield task.weight_bytes, f"task {task.name!r}: weight_bytes"
    for tensor in problem.tensors:
        yield tensor.size_bytes, f"tensor {tensor.name!r}: size_bytes"
    for blob in problem.blobs:
        yield blob.size_bytes, f"blob {blob.name!r}: size_bytes"
