"""What every placement problem fulfils."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from surplus.placement.field_checks import (
    ProblemError,
    check_count,
    check_flag,
    check_whole,
    check_wholes,
)
from surplus.placement.machine_check import owner_of
from surplus.placement.totals_check import check_totals
from surplus.placement.width_check import check_wider

if TYPE_CHECKING:
    from surplus.placement.problem import Blob, Device, Problem, Task, Tensor


def check_problem(problem: Problem) -> None:
    """Raise ProblemError, naming the device, link, task or tensor that is wrong, and its field."""
    if not problem.devices:
        raise ProblemError("devices: at least one device is needed")
    _check_names(problem)
    _check_links(problem)
    for task in problem.tasks:
        _check_task(task, problem.devices)
        _check_blobs(task, problem.blobs)
    for tensor in problem.tensors:
        _check_tensor(tensor, len(problem.tasks))
    check_totals(problem)


def _check_names(problem: Problem) -> None:
    for what, names in (
        ("device", [d.name for d in problem.devices]),
        ("task", [t.name for t in problem.tasks]),
        ("tensor", [t.name for t in problem.tensors]),
        ("link", [link.name for link in problem.links]),
        ("blob", [blob.name for blob in problem.blobs]),
    ):
        if len(set(names)) != len(names):
            twice, _ = Counter(names).most_common(1)[0]
            raise ProblemError(f"{what} {twice!r}: name appears twice")


def _check_links(problem: Problem) -> None:
    spaces = {device.memory for device in problem.devices}
    linked = {(link.source, link.target) for link in problem.links}
    for a in sorted(spaces):
        for b in sorted(spaces - {a}):
            if (a, b) not in linked:
                raise ProblemError(f"links: no link from memory {a!r} to memory {b!r}")
    for link in problem.links:
        for field, memory in (("source", link.source), ("target", link.target)):
            if memory not in spaces:
                raise ProblemError(f"{owner_of(link)}: {field}: no device has memory {memory!r}")


def _check_task(task: Task, devices: tuple[Device, ...]) -> None:
    owner = f"task {task.name!r}"
    check_count(owner, "service_ns", task.service_ns, len(devices))
    for place, time_ns in enumerate(task.service_ns):
        if time_ns is not None:
            check_whole(owner, f"service_ns[{place}]", time_ns)
    if all(t is None for t in task.service_ns):
        raise ProblemError(f"{owner}: service_ns: it can run on no device")
    check_whole(owner, "weight_bytes", task.weight_bytes)
    check_whole(owner, "default_device", task.default_device, end=len(devices))
    if task.service_ns[task.default_device] is None:
        raise ProblemError(f"{owner}: default_device {task.default_device} cannot run it")
    for field in ("launch_ns", "spread_ns"):
        if times_ns := getattr(task, field):
            check_wholes(owner, field, times_ns, len(devices))
    if task.widths:
        check_count(owner, "widths", task.widths, len(devices))
    for place, (device, width) in enumerate(zip(devices, task.widths, strict=False)):
        check_whole(owner, f"widths[{place}]", width, least=1)
        if width > device.lanes:
            raise ProblemError(
                f"{owner}: widths[{place}] {width} exceeds the {device.lanes} lanes of"
                f" {device.name!r}"
            )
    check_wider(owner, task, devices)


def _check_blobs(task: Task, blobs: tuple[Blob, ...]) -> None:
    owner = f"task {task.name!r}"
    for place, index in enumerate(task.blobs):
        check_whole(owner, f"blobs[{place}]", index, end=len(blobs))
    if list(task.blobs) != sorted(set(task.blobs)):
        raise ProblemError(f"{owner}: blobs must be distinct and ascending")
    if task.blobs and sum(blobs[index].size_bytes for index in task.blobs) > task.weight_bytes:
        raise ProblemError(f"{owner}: weight_bytes: its blobs exceed them")


def _check_tensor(tensor: Tensor, task_count: int) -> None:
    owner = f"tensor {tensor.name!r}"
    check_whole(owner, "producer", tensor.producer, least=-1, end=task_count)
    check_whole(owner, "size_bytes", tensor.size_bytes)
    check_flag(owner, "is_output", tensor.is_output)
    last = -1
    for place, task in enumerate(tensor.consumers):
        check_whole(owner, f"consumers[{place}]", task, end=task_count)
        if task <= last:
            raise ProblemError(f"{owner}: consumers must be distinct and ascending")
        if task <= tensor.producer:
            raise ProblemError(
                f"{owner}: consumers[{place}]: task {task} does not come after the producer,"
                f" task {tensor.producer}"
            )
        last = task
