"""Seeded widths: problems whose tasks may take several lanes at once, for research and tests.

A task on ``n`` lanes takes the share of it that cannot be split, and an ``n``-th of the rest
(Amdahl's law). The shares are made up, as all of ``random_graphs``.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from surplus.placement.problem import Device, Problem, Task
from surplus.placement.widths import TimeAt

_MOLDABLE = 0.7
"""Of tasks, how many have a choice."""


def with_widths(problem: Problem, seed: int) -> Problem:
    """The problem with further widths for most tasks, on devices with lanes enough for any."""
    random = Random(f"widths {seed}")
    tasks = (_moldable(random, task, problem.devices) for task in problem.tasks)
    return replace(problem, tasks=tuple(tasks))


def _moldable(random: Random, task: Task, devices: tuple[Device, ...]) -> Task:
    serial = random.choice([0.0, 0.1, 0.3, 1.0])
    if random.random() >= _MOLDABLE:
        return task
    rows = (_wider(random, task, d, device.lanes, serial) for d, device in enumerate(devices))
    return replace(task, wider_ns=tuple(rows))


def _wider(
    random: Random, task: Task, device: int, lanes: int, serial: float
) -> tuple[TimeAt, ...]:
    """Some of the widths up to all lanes; none that a task which cannot run there would need."""
    service_ns, least = task.service_ns[device], task.width(device)
    if service_ns is None:
        return ()
    some = sorted(width for width in range(least + 1, lanes + 1) if random.random() < 0.7)
    return tuple((n, round(service_ns * (serial + (1 - serial) * least / n))) for n in some)
