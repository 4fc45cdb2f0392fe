"""Random problems with everything that a machine can have, and random placements of them."""

from dataclasses import replace
from random import Random

from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task
from surplus.placement.random_graphs import small_random


def featured(seed: int, task_count: int, device_count: int = 3) -> Problem:
    """``small_random`` with submission, launches, slow-down, pageable links and staging pools.

    Each with a probability, so that devices of all kinds stand side by side; times are short, so
    that much happens at one moment.
    """
    random, plain = Random(seed), small_random(seed, task_count, device_count)
    most = random.choice([3, 50])
    return replace(
        plain,
        devices=tuple(_device(random, device) for device in plain.devices),
        links=tuple(_link(random, link) for link in plain.links),
        tasks=tuple(_task(random, task, most) for task in plain.tasks),
    )


def crowded(seed: int, task_count: int) -> Problem:
    """The same on eight devices of many lanes: dozens of tasks and copies are under way at once."""
    problem = featured(seed, task_count, 8)
    return replace(problem, devices=tuple(replace(d, lanes=40) for d in problem.devices))


def placed(problem: Problem, seed: int) -> Placement:
    """Devices that can run their tasks, priorities that need be neither dense nor positive."""
    random, count = Random(seed), len(problem.tasks)
    devices = tuple(
        random.choice([d for d, ns in enumerate(task.service_ns) if ns is not None])
        for task in problem.tasks
    )
    priorities = range(count) if random.random() < 0.5 else range(-3 * count, 4 * count)
    return Placement(devices, tuple(random.sample(priorities, count)), "at random")


def _device(random: Random, device: Device) -> Device:
    if random.random() < 0.5:
        return device
    slowdown = random.choice([(), (1.0,), (1.0, 1.37), (0.5, 1.1, 2.3)])
    return replace(device, submit_ns=random.choice([0, 1, 4]), slowdown=slowdown)


def _link(random: Random, link: Link) -> Link:
    return replace(
        link,
        staging_bytes=random.choice([None, None, 1, 150, 500]),
        pageable=random.random() < 0.3,
        latency_ns=random.choice([link.latency_ns, 40]),
        bytes_per_s=random.choice([link.bytes_per_s, 3e9, 1e13]),
    )


def _task(random: Random, task: Task, most_ns: int) -> Task:
    times = tuple(None if ns is None else random.randint(0, most_ns) for ns in task.service_ns)
    launches = tuple(random.choice([0, 0, 2]) for _ in times)
    return replace(task, service_ns=times, launch_ns=random.choice([(), (), launches]))
