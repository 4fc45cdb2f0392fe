"""Seeded problems with what makes tasks and copies wait for each other or slower, for tests.

Submitting threads, operators launched one by one, lanes that slow each other or speed each other
up, staging pools, pageable copies: each is there in about half of the problems.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from surplus.placement.problem import Device, Link, Problem, Task
from surplus.placement.random_graphs import small_random

_FACTORS = (0.5, 0.9, 1.0, 1.0, 1.2, 1.5, 2.5)


def small_disturbed(seed: int, task_count: int, device_count: int = 2) -> Problem:
    """``small_random`` with disturbances."""
    random = Random(f"disturbed {seed}")
    plain = small_random(seed, task_count, device_count)
    return replace(
        plain,
        name=f"disturbed-{seed}",
        devices=tuple(_device(random, device) for device in plain.devices),
        links=tuple(_link(random, link) for link in plain.links),
        tasks=tuple(_task(random, task, device_count) for task in plain.tasks),
    )


def _device(random: Random, device: Device) -> Device:
    slowdown = tuple(random.choice(_FACTORS) for _ in range(random.randint(1, 3)))
    return replace(
        device,
        submit_ns=random.choice([0, 0, 1, random.randint(2, 20)]),
        slowdown=random.choice([(), slowdown]),
    )


def _link(random: Random, link: Link) -> Link:
    return replace(
        link,
        bytes_per_s=random.choice([link.bytes_per_s, 1e9]),
        staging_bytes=random.choice([None, random.randint(1, 500)]),
        pageable=random.random() < 0.3,
    )


def _task(random: Random, task: Task, device_count: int) -> Task:
    launch_ns = tuple(random.choice([0, random.randint(1, 30)]) for _ in range(device_count))
    return replace(task, launch_ns=random.choice([(), launch_ns]))
