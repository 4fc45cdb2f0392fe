"""Seeded problems for research and tests: detectors, inception-like nets, small random graphs.

Times are made up to the orders of magnitude of published profiles (SIR+ sections 3 and 4): tiny
tasks of 5 to 14 us that a CPU does about as fast, convolutions that it does many times slower.
They are not measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Device, Link, Problem, Task, Tensor

_LEVELS = 5


@dataclass(frozen=True)
class DetectorParams:
    """Sizes of a detector-like graph.

    Parameters
    ----------
    backbone : int
        Convolutions in a chain; the last of each fifth feeds a pyramid level.
    level_tasks : int
        Tasks of each of the five pyramid levels, >= 1.
    branches, branch_tasks : int
        Branches that follow the proposals, and tiny tasks in the chain of each, >= 1.
    """

    backbone: int = 60
    level_tasks: int = 6
    branches: int = 80
    branch_tasks: int = 5

    def __post_init__(self) -> None:
        if self.backbone < _LEVELS or min(self.level_tasks, self.branches, self.branch_tasks) < 1:
            raise ValueError(f"a detector needs a backbone of {_LEVELS} or more, the rest >= 1")


def detector(
    seed: int, params: DetectorParams | None = None, machine: MachineParams | None = None
) -> Problem:
    """Backbone chain, five pyramid levels, many branches of tiny tasks, a final join."""
    sizes, graph = params or DetectorParams(), GraphGrower(seed)
    taps: list[int] = []
    last = graph.input(3_000_000)
    for index in range(sizes.backbone):
        last = graph.add("Conv", [last], graph.heavy(150, 900), graph.bytes(1e6, 8e6))
        if index + 1 == (len(taps) + 1) * sizes.backbone // _LEVELS:
            taps.append(last)
    levels = []
    for tap in taps:
        for _ in range(sizes.level_tasks):
            tap = graph.add("Conv", [tap], graph.heavy(40, 300), graph.bytes(1e5, 2e6))
        levels.append(tap)
    proposals = graph.add("Concat", levels, graph.tiny(), graph.bytes(1e5, 4e5))
    ends = []
    for _ in range(sizes.branches):
        branch = proposals
        for _ in range(sizes.branch_tasks):
            branch = graph.add("Gather", [branch], graph.tiny(), graph.bytes(1e2, 2e4))
        ends.append(branch)
    graph.finish("Concat", ends)
    return graph.problem(f"detector-{len(graph.tasks)}", machine or MachineParams())


def inception(
    seed: int, blocks: int, width: int = 4, depth: int = 3, machine: MachineParams | None = None
) -> Problem:
    """A chain of blocks, each ``width`` branches of one to ``depth`` convolutions and a concat."""
    graph = GraphGrower(seed)
    last = graph.input(600_000)
    for _ in range(blocks):
        ends = []
        for _ in range(width):
            branch = last
            for _ in range(graph.random.randint(1, depth)):
                cost = graph.service(20, 200, 1.5, 12)
                branch = graph.add("Conv", [branch], cost, graph.bytes(5e4, 8e5))
            ends.append(branch)
        last = graph.add("Concat", ends, graph.tiny(), graph.bytes(2e5, 2e6))
    graph.finish("Softmax", [last])
    return graph.problem(f"inception-{len(graph.tasks)}", machine or MachineParams())


def small_random(seed: int, task_count: int, device_count: int = 2) -> Problem:
    """A random graph with everything that a problem can have.

    Several lanes, wide tasks, devices that share a memory or cannot run a task, zero service
    times, tensors without bytes, without consumers or with many, graph inputs and outputs.
    """
    random = Random(seed)
    devices = tuple(
        Device(f"d{index}", random.randint(1, 3), random.choice(["host", f"m{index}"]))
        for index in range(device_count)
    )
    tasks = tuple(_small_task(random, index, devices) for index in range(task_count))
    tensors = [_small_input(random, index, task_count) for index in range(2)] + [
        _small_tensor(random, producer, task_count)
        for producer in range(task_count)
        for _ in range(random.randint(1, 2))
    ]
    named = tuple(
        Tensor(f"x{index}", t.producer, t.consumers, t.size_bytes, t.is_output)
        for index, t in enumerate(tensors)
    )
    return Problem(f"random-{seed}", devices, _small_links(random, devices), tasks, named)


def _small_task(random: Random, index: int, devices: Sequence[Device]) -> Task:
    able = [random.random() < 0.8 for _ in devices]
    default = random.randrange(len(devices))
    able[default] = True
    times = tuple(random.choice([0, random.randint(1, 50)]) if a else None for a in able)
    widths = tuple(random.randint(1, device.lanes) for device in devices)
    return Task(f"t{index}", "Op", times, random.choice([(), widths]), default)


def _small_input(random: Random, index: int, task_count: int) -> Tensor:
    readers = {random.randrange(task_count) for _ in range(2)} if task_count else set()
    return Tensor(f"in{index}", -1, tuple(sorted(readers)), random.choice([0, 64]))


def _small_tensor(random: Random, producer: int, task_count: int) -> Tensor:
    later = range(producer + 1, min(task_count, producer + 8))
    readers = random.sample(later, min(len(later), random.randint(0, 3)))
    size_bytes = random.choice([0, random.randint(1, 400)])
    return Tensor("", producer, tuple(sorted(readers)), size_bytes, random.random() < 0.2)


def _small_links(random: Random, devices: Sequence[Device]) -> tuple[Link, ...]:
    spaces = sorted({device.memory for device in devices})
    return tuple(
        Link(a, b, random.randint(0, 5), random.choice([1e10, 5e10]), random.randint(0, 3))
        for a in spaces
        for b in spaces
        if a != b
    )
