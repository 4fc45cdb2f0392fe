"""Memory as knapsacks: which constants and tensors a choice of devices brings into a memory.

The exact rule depends on the order (``placement.memory``), so a program gets one of two that do
not. ``NEEDED`` keeps every plan that fits: all constants, and beside them what one task reads and
makes, for each task by itself. Its bounds, and its word that there is no plan, are proofs. ``SAFE``
keeps only plans that fit in any order: all constants and all tensors at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from surplus.placement.fit_memory import least_bytes
from surplus.placement.memory import binding_capacities, own_bytes, working_bytes
from surplus.placement.memory_words import bytes_in_words
from surplus.placement.problem import Problem


class MemoryRoom(StrEnum):
    """What has to fit at once."""

    NEEDED = "needed"
    SAFE = "safe"


@dataclass(frozen=True)
class Item:
    """Bytes that lie in a memory once if any of the tasks runs there, or anyhow."""

    name: str
    size_bytes: int
    holders: tuple[int, ...]
    always: bool = False


@dataclass(frozen=True)
class Knapsack:
    """One limited memory.

    Parameters
    ----------
    own_bytes : dict of int to int
        By task, what it brings along by itself.
    items : tuple of Item
        What tasks have in common.
    passing_bytes : dict of int to int
        By task, what lies there beside all that only while it runs.
    """

    memory: str
    capacity_bytes: int
    own_bytes: dict[int, int]
    items: tuple[Item, ...]
    passing_bytes: dict[int, int]


def knapsacks(problem: Problem, room: MemoryRoom) -> Iterator[Knapsack]:
    """Those of the memories that might not hold everything."""
    tasks = range(len(problem.tasks))
    own = {i: own_bytes(problem, i) for i in tasks}
    for memory, capacity_bytes in sorted(binding_capacities(problem).items()):
        items = list(_blobs(problem))
        passing = {}
        if room is MemoryRoom.SAFE:
            items += _tensors(problem, memory)
        else:
            # A task of no length holds nothing for any time.
            passing = {i: working_bytes(problem, i) for i in tasks if _lasts(problem, i)}
        kept = {i: size for i, size in own.items() if size}
        yield Knapsack(memory, capacity_bytes, kept, tuple(items), passing)


def least_in_words(problem: Problem) -> str:
    """What the limited memories have, and what tasks that run nowhere else need of them."""
    return ", ".join(
        f"{memory!r} has {bytes_in_words(limit)}, tasks that run only there need at least"
        f" {bytes_in_words(least_bytes(problem, memory))}"
        for memory, limit in sorted(binding_capacities(problem).items())
    )


def _blobs(problem: Problem) -> Iterator[Item]:
    for index, blob in enumerate(problem.blobs):
        holders = tuple(i for i, task in enumerate(problem.tasks) if index in task.blobs)
        if blob.size_bytes and holders:
            yield Item(f"b{index}", blob.size_bytes, holders)


def _tensors(problem: Problem, memory: str) -> Iterator[Item]:
    at_home = memory == problem.devices[0].memory
    for index, tensor in enumerate(problem.tensors):
        if tensor.size_bytes:
            makers = (tensor.producer,) if tensor.producer >= 0 else ()
            always = at_home and (tensor.producer < 0 or tensor.is_output)
            yield Item(f"x{index}", tensor.size_bytes, (*makers, *tensor.consumers), always)


def _lasts(problem: Problem, task: int) -> bool:
    return problem.fastest_ns(task) > 0
