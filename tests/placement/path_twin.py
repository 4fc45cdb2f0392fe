"""How early tasks can start and how long the query goes on after them, in Python.

The evaluator's tables are held against it.
"""

from __future__ import annotations

from math import inf

from surplus.placement.problem import Problem


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
