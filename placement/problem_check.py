"""What every placement problem fulfils."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.placement.problem import Blob, Device, Problem, Task, Tensor


def check_problem(problem: Problem) -> None:
    """Raise ValueError, naming the device, link, task or tensor that is wrong."""
    if not problem.devices:
        raise ValueError("at least one device is needed")
    for what, names in (
        ("device", [d.name for d in problem.devices]),
        ("task", [t.name for t in problem.tasks]),
        ("tensor", [t.name for t in problem.tensors]),
        ("link", [link.name for link in problem.links]),
        ("blob", [blob.name for blob in problem.blobs]),
    ):
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise ValueError(f"{what} {twice!r} appears twice")
    spaces = {d.memory for d in problem.devices}
    linked = {(link.source, link.target) for link in problem.links}
    for a in spaces:
        for b in spaces - {a}:
            if (a, b) not in linked:
                raise ValueError(f"no link from memory {a!r} to memory {b!r}")
    for task in problem.tasks:
        _check_task(task, problem.devices)
        _check_blobs(task, problem.blobs)
    for tensor in problem.tensors:
        _check_tensor(tensor, len(problem.tasks))


def _check_task(task: Task, devices: tuple[Device, ...]) -> None:
    if len(task.service_ns) != len(devices):
        raise ValueError(
            f"task {task.name!r}: {len(task.service_ns)} service times for {len(devices)} devices"
        )
    if all(t is None for t in task.service_ns):
        raise ValueError(f"task {task.name!r} can run on no device")
    if any(t is not None and t < 0 for t in task.service_ns):
        raise ValueError(f"task {task.name!r}: a service time is negative")
    if task.weight_bytes < 0:
        raise ValueError(f"task {task.name!r}: weight_bytes is negative")
    if not 0 <= task.default_device < len(devices):
        raise ValueError(f"task {task.name!r}: default_device {task.default_device} is unknown")
    if task.service_ns[task.default_device] is None:
        raise ValueError(f"task {task.name!r} cannot run on its default device")
    if task.widths and len(task.widths) != len(devices):
        raise ValueError(
            f"task {task.name!r}: {len(task.widths)} widths for {len(devices)} devices"
        )
    if task.launch_ns and (len(task.launch_ns) != len(devices) or min(task.launch_ns) < 0):
        raise ValueError(
            f"task {task.name!r}: launch_ns must be {len(devices)} times >= 0, got {task.launch_ns}"
        )
    for index, device in enumerate(devices):
        if not 1 <= task.width(index) <= device.lanes:
            raise ValueError(
                f"task {task.name!r}: width {task.width(index)} exceeds the"
                f" {device.lanes} lanes of {device.name!r} or is below 1"
            )


def _check_blobs(task: Task, blobs: tuple[Blob, ...]) -> None:
    if list(task.blobs) != sorted(set(task.blobs)):
        raise ValueError(f"task {task.name!r}: blobs must be distinct and ascending")
    for index in task.blobs:
        if not 0 <= index < len(blobs):
            raise ValueError(f"task {task.name!r}: blob {index} is unknown")
    if sum(blobs[index].size_bytes for index in task.blobs) > task.weight_bytes:
        raise ValueError(f"task {task.name!r}: its blobs exceed its weight_bytes")


def _check_tensor(tensor: Tensor, task_count: int) -> None:
    if not -1 <= tensor.producer < task_count:
        raise ValueError(f"tensor {tensor.name!r}: producer {tensor.producer} is unknown")
    if tensor.size_bytes < 0:
        raise ValueError(f"tensor {tensor.name!r}: size_bytes is negative")
    if list(tensor.consumers) != sorted(set(tensor.consumers)):
        raise ValueError(f"tensor {tensor.name!r}: consumers must be distinct and ascending")
    for task in tensor.consumers:
        if not tensor.producer < task < task_count:
            raise ValueError(
                f"tensor {tensor.name!r}: consumer {task} is unknown or not after its producer"
            )
