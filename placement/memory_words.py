"""Says in words what a memory holds too much of."""

from __future__ import annotations

from collections.abc import Iterator

from surplus.placement.memory import MemoryUse, own_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

_NAMED = 3
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def excess_in_words(
    problem: Problem, placement: Placement, use: MemoryUse, capacity_bytes: int
) -> str:
    """Which memory, when, by how much, and who holds most of it then."""
    holders = sorted(_holders(problem, placement, use), key=lambda pair: (-pair[0], pair[1]))
    named = ", ".join(f"{name} {bytes_in_words(size)}" for size, name in holders[:_NAMED])
    return (
        f"memory {use.memory!r} needs {bytes_in_words(use.peak_bytes)} at {use.peak_ns} ns,"
        f" {bytes_in_words(use.peak_bytes - capacity_bytes)} more than its"
        f" {bytes_in_words(capacity_bytes)}; largest: {named}"
    )


def bytes_in_words(size_bytes: int) -> str:
    """A size for people; exact below a KiB."""
    for unit, factor in _UNITS:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} bytes"


def _holders(problem: Problem, placement: Placement, use: MemoryUse) -> Iterator[tuple[int, str]]:
    shared: set[int] = set()
    for task, device in enumerate(placement.device_of):
        if problem.devices[device].memory == use.memory:
            shared.update(problem.tasks[task].blobs)
            yield own_bytes(problem, task), f"constants of {problem.tasks[task].name!r}"
    for blob in shared:
        yield problem.blobs[blob].size_bytes, f"constant {problem.blobs[blob].name!r}"
    for index in use.tensors:
        tensor = problem.tensors[index]
        yield tensor.size_bytes, f"tensor {tensor.name!r}"
