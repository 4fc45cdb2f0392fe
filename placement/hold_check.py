"""Whether a placement's holds can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surplus.placement.holds import CopyHold, Hold, copy_rank, home_of, readers_in

if TYPE_CHECKING:
    from surplus.placement.placement import Placement
    from surplus.placement.problem import Problem


def check_holds(problem: Problem, placement: Placement) -> None:
    """Raise ValueError, naming the task or tensor, if they cannot be kept.

    Elders must be known, more urgent, and on the same device or link; nobody may wait, by holds
    and data together, for himself.
    """
    for hold in placement.holds:
        for index in (hold.elder, hold.task):
            if not 0 <= index < len(problem.tasks):
                raise ValueError(f"hold of task {index}, which is unknown")
    for copy in placement.copy_holds:
        for index in (copy.elder, copy.tensor):
            _check_copied(problem, placement, index, copy.memory)
    _check_acyclic(problem, placement)
    for hold in placement.holds:
        _check_order(problem, placement, hold)
    for copy in placement.copy_holds:
        _check_copies(problem, placement, copy)


def _check_copied(problem: Problem, placement: Placement, index: int, memory: str) -> None:
    if not 0 <= index < len(problem.tensors):
        raise ValueError(f"hold of a copy of tensor {index}, which is unknown")
    tensor = problem.tensors[index]
    is_read = any(True for _ in readers_in(problem, placement, index, memory))
    is_answer = tensor.is_output and memory == problem.devices[0].memory
    is_home = home_of(problem, placement, index) == memory
    if not tensor.size_bytes or is_home or not (is_read or is_answer):
        raise ValueError(f"hold of a copy: tensor {tensor.name!r} is not copied to {memory!r}")


def _check_order(problem: Problem, placement: Placement, hold: Hold) -> None:
    elder, task = problem.tasks[hold.elder].name, problem.tasks[hold.task].name
    where = f"hold of task {task!r} behind {elder!r}"
    if placement.device_of[hold.elder] != placement.device_of[hold.task]:
        raise ValueError(f"{where}: they are on different devices")
    if placement.priority[hold.elder] > placement.priority[hold.task]:
        raise ValueError(f"{where}, which is less urgent")


def _check_copies(problem: Problem, placement: Placement, hold: CopyHold) -> None:
    elder, tensor = problem.tensors[hold.elder].name, problem.tensors[hold.tensor].name
    where = f"hold of the copy of {tensor!r} to {hold.memory!r} behind that of {elder!r}"
    homes = {home_of(problem, placement, index) for index in (hold.elder, hold.tensor)}
    if len(homes) > 1:
        raise ValueError(f"{where}: they go over different links")
    ranks = [copy_rank(problem, placement, t, hold.memory) for t in (hold.elder, hold.tensor)]
    if ranks[0] >= ranks[1]:
        raise ValueError(f"{where}, which is less urgent")


def _check_acyclic(problem: Problem, placement: Placement) -> None:
    before = [set(row) for row in problem.predecessors]
    for hold in placement.holds:
        before[hold.task].add(hold.elder)
    for copy in placement.copy_holds:
        maker = problem.tensors[copy.elder].producer
        for task in readers_in(problem, placement, copy.tensor, copy.memory):
            before[task] |= {maker} - {-1}
    if cycle := _cycle(before):
        names = " waits for ".join(repr(problem.tasks[task].name) for task in cycle)
        raise ValueError(f"holds form a cycle: {names}")


def _cycle(before: list[set[int]]) -> list[int]:
    """Tasks each of which waits for the next, the last of them the first again; or none."""
    waiting = [len(row) for row in before]
    after: list[list[int]] = [[] for _ in before]
    for task, row in enumerate(before):
        for other in row:
            after[other].append(task)
    ready = [task for task, count in enumerate(waiting) if count == 0]
    for task in ready:
        for other in after[task]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    at = next((task for task, count in enumerate(waiting) if count), None)
    path: list[int] = []
    while at is not None and at not in path:
        path.append(at)
        at = min(other for other in before[at] if waiting[other])
    return [] if at is None else [*path[path.index(at) :], at]
