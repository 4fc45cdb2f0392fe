"""Bounds from precedence: how early a task can start, and how long the query goes on after it.

Lanes and links are unlimited here. ``d`` ranges over the devices that can run a task; each edge
may take the device that suits it best, so that no choice of a real schedule is cheaper. Graph
inputs come from the host, graph outputs have to return there.
"""

from __future__ import annotations

from math import inf

from surplus.placement.problem import Problem


def path_bound_ns(problem: Problem) -> int:
    """Critical path on the best devices with the cheapest transfers."""
    starts, afters = least_starts_ns(problem), least_afters_ns(problem)
    longest = 0.0
    for task, services in enumerate(problem.least_service_ns):
        through = (
            starts[task][d] + service + afters[task][d]
            for d, service in enumerate(services)
            if service is not None
        )
        longest = max(longest, min(through))
    return int(longest)


def heads_ns(problem: Problem) -> list[int]:
    """Least start of each task, whatever its device."""
    return [int(min(row)) for row in least_starts_ns(problem)]


def tails_ns(problem: Problem) -> list[int]:
    """Least time from the end of each task to the end of the query, whatever its device."""
    return [int(min(row)) for row in least_afters_ns(problem)]


def least_starts_ns(problem: Problem) -> list[list[float]]:
    """Least start of task i on device d; infinite where it cannot run. Forward over tasks."""
    starts: list[list[float]] = []
    ends: list[list[float]] = []
    for task, services in enumerate(problem.least_service_ns):
        starts.append(
            [
                inf if service is None else _inputs_there(problem, ends, task, device)
                for device, service in enumerate(services)
            ]
        )
        ends.append([s + (t or 0) for s, t in zip(starts[task], services, strict=True)])
    return starts


def _inputs_there(problem: Problem, ends: list[list[float]], task: int, device: int) -> float:
    latest = 0.0
    for index in problem.inputs_of[task]:
        tensor = problem.tensors[index]
        made = ends[tensor.producer] if tensor.producer >= 0 else [0.0]
        there = min(
            end + problem.copy_ns(source, device, tensor.size_bytes)
            for source, end in enumerate(made)
        )
        latest = max(latest, there)
    return latest


def least_afters_ns(problem: Problem) -> list[list[float]]:
    """Least time from the end of task i on device d to the end of the query. Backward."""
    devices = range(len(problem.devices))
    afters = [[0.0] * len(devices) for _ in problem.tasks]
    for task in reversed(range(len(problem.tasks))):
        for device in devices:
            if problem.tasks[task].service_ns[device] is None:
                afters[task][device] = inf
            else:
                afters[task][device] = _outputs_used(problem, afters, task, device)
    return afters


def _outputs_used(problem: Problem, afters: list[list[float]], task: int, device: int) -> float:
    longest = 0.0
    for index in problem.outputs_of[task]:
        tensor = problem.tensors[index]
        if tensor.is_output:
            longest = max(longest, problem.copy_ns(device, 0, tensor.size_bytes))
        for consumer in tensor.consumers:
            used = min(
                problem.copy_ns(device, target, tensor.size_bytes)
                + (service or 0)
                + afters[consumer][target]
                for target, service in enumerate(problem.least_service_ns[consumer])
            )
            longest = max(longest, used)
    return longest
