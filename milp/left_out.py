"""What of a problem the solvers' programs do not know, in words.

All of it only delays or lengthens what the programs know: a task takes at least its least service
time, and a wait for a submitting thread or for a staging pool is one constraint more. So every
timeline of the problem is a solution of the program with the same makespan or less, and a bound of
the program holds for the problem. A plan's length counts everything: where threads or slow-downs
matter only the simulator makes plans.
"""

from __future__ import annotations

from collections.abc import Iterator

from surplus.placement.problem import Device, Problem


def left_out(problem: Problem) -> tuple[str, ...]:
    """What the programs leave out: the field, and the device or link that has it."""
    return tuple(_of_devices(problem)) + tuple(_of_links(problem))


def is_planned_exactly(problem: Problem) -> bool:
    """Whether a plan in a given order can be timed without the simulator, pinned pools aside."""
    return not any(_of_devices(problem)) and not any(link.pageable for link in problem.links)


def _of_devices(problem: Problem) -> Iterator[str]:
    for index, device in enumerate(problem.devices):
        if _slows(device):
            yield f"slowdown of {device.name!r} beyond its least"
        if device.submit_ns > 0:
            yield f"submit_ns of {device.name!r}"
        if _waits_for_launches(problem, index):
            yield f"launch_ns on {device.name!r}"


def _waits_for_launches(problem: Problem, index: int) -> bool:
    """Whether a task may find the submitting thread still busy with the launch of another.

    Not where one lane is busy with each as long as the thread is, and that with nothing else.
    """
    device = problem.devices[index]
    rows = [(task.launches_ns(index), task.service_ns[index]) for task in problem.tasks]
    if device.lanes > 1 or device.submit_ns > 0:
        return any(launch_ns for launch_ns, _ in rows)
    shares = any(k.pageable and device.memory in (k.source, k.target) for k in problem.links)
    return any(
        launch_ns > 0 if shares else launch_ns > (service_ns or 0) * _least_factor(device)
        for launch_ns, service_ns in rows
        if service_ns is not None
    )


def _least_factor(device: Device) -> float:
    return min((1.0, *device.slowdown))


def _slows(device: Device) -> bool:
    """Whether tasks take longer or shorter with the lanes that are busy."""
    return len(set(device.slowdown[: device.lanes])) > 1


def _of_links(problem: Problem) -> Iterator[str]:
    for link in problem.links:
        pool, sizes = link.staging_bytes, [tensor.size_bytes for tensor in problem.tensors]
        if pool is not None and sum(sizes) > pool:
            yield f"staging_bytes of {link.name}"
        if link.pageable:
            yield f"pageable copies over {link.name}"
