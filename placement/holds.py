"""Holds: whom a plan lets wait, although a runtime could start him, for something more urgent.

A runtime gives a free lane to whichever task is ready, and a free link to whichever copy was asked
for first. Some optima leave a lane or a link idle for what is about to become ready. A hold says
so: who is held is not ready before his elder is. Then both are ready at once, at the earliest, and
the elder, who is more urgent, goes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.placement.placement import Placement
    from surplus.placement.problem import Problem


@dataclass(frozen=True, slots=True, order=True)
class Hold:
    """A task that may not start before another one of its device.

    Parameters
    ----------
    elder : int
        Index of the task that goes first.
    task : int
        Index of the task that waits, until all is there that the elder waits for.
    """

    elder: int
    task: int


@dataclass(frozen=True, slots=True, order=True)
class CopyHold:
    """A copy that may not take its link before another one.

    Parameters
    ----------
    elder : int
        Index of the tensor whose copy goes first.
    tensor : int
        Index of the tensor whose copy waits, until the elder was made, and what that one waits for.
    memory : str
        Where both go.
    """

    elder: int
    tensor: int
    memory: str


def home_of(problem: Problem, placement: Placement, tensor: int) -> str:
    """The memory in which a tensor is made; inputs of the graph are in the host's."""
    producer = problem.tensors[tensor].producer
    return problem.devices[placement.device_of[producer] if producer >= 0 else 0].memory


def readers_in(problem: Problem, placement: Placement, tensor: int, memory: str) -> Iterator[int]:
    """Tasks that read a tensor in a memory."""
    for task in problem.tensors[tensor].consumers:
        if problem.devices[placement.device_of[task]].memory == memory:
            yield task


def copy_rank(
    problem: Problem, placement: Placement, tensor: int, memory: str
) -> tuple[bool, int, int]:
    """Place of a copy among those that are asked for at one moment: outputs are the last."""
    readers = readers_in(problem, placement, tensor, memory)
    first = min((placement.priority[task] for task in readers), default=None)
    return first is None, first or 0, tensor
