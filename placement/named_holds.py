"""Holds by the names of their problem, as files have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surplus.placement.holds import CopyHold, Hold
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem


def hold_rows(problem: Problem, placement: Placement) -> dict[str, Any]:
    """Fields ``holds`` (elder, task) and ``copy_holds`` (elder, tensor, memory) of a document."""
    tasks = [task.name for task in problem.tasks]
    tensors = [tensor.name for tensor in problem.tensors]
    return {
        "holds": [[tasks[hold.elder], tasks[hold.task]] for hold in placement.holds],
        "copy_holds": [
            [tensors[hold.elder], tensors[hold.tensor], hold.memory]
            for hold in placement.copy_holds
        ],
    }


def holds_of(
    problem: Problem, tasks: Iterable[Sequence[str]], copies: Iterable[Sequence[str]]
) -> tuple[tuple[Hold, ...], tuple[CopyHold, ...]]:
    """The inverse of ``hold_rows``.

    Raises
    ------
    ValueError
        Naming the task or tensor that the problem does not have.
    """
    task_of = {task.name: index for index, task in enumerate(problem.tasks)}
    tensor_of = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
    return (
        tuple(
            Hold(_index(task_of, elder, "task"), _index(task_of, task, "task"))
            for elder, task in tasks
        ),
        tuple(
            CopyHold(
                _index(tensor_of, elder, "copy of tensor"),
                _index(tensor_of, tensor, "copy of tensor"),
                memory,
            )
            for elder, tensor, memory in copies
        ),
    )


def _index(index_of: Mapping[str, int], name: str, what: str) -> int:
    if name not in index_of:
        raise ValueError(f"hold of {what} {name!r}, which is unknown")
    return index_of[name]
