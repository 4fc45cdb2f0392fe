"""What tasks and copies of a placement wait for: what they need, and where they are held, more."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.placement.holds import CopyHold, copy_rank
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

CopyKey = tuple[int, str]
"""A tensor and the memory that it is copied to."""


class Waits:
    """Each task's inputs and each tensor's readers, holds included.

    A task that is held waits for each tensor that its elder waits for, as if it read it, too; a
    copy that is held waits until its elder's tensor was made, and what that one waits for. So
    nothing else of a runtime has to know of holds.

    Attributes
    ----------
    inputs_of : sequence
        Tensors that each task waits for.
    readers_of : sequence
        Tasks that wait for each tensor.
    held_inputs : dict of int to tuple of int
        By task that is held: those of its tensors that it does not read.
    copies : dict of CopyKey to tuple of int
        By copy that is held: the tensors that are to be made before it is asked for.
    """

    def __init__(self, problem: Problem, placement: Placement) -> None:
        self._problem = problem
        self.inputs_of: Sequence[Sequence[int]] = problem.inputs_of
        self.readers_of: Sequence[Sequence[int]] = [t.consumers for t in problem.tensors]
        self.held_inputs = _held_inputs(problem, placement) if placement.holds else {}
        self.copies = _held_copies(problem, placement) if placement.copy_holds else {}
        if self.held_inputs:
            self._add_held()

    def successors(self, task: int) -> Sequence[int]:
        """Distinct tasks that wait for what a task makes."""
        if not self.held_inputs:
            return self._problem.successors[task]
        made = self._problem.outputs_of[task]
        return sorted({reader for tensor in made for reader in self.readers_of[tensor]})

    def _add_held(self) -> None:
        inputs = list(self._problem.inputs_of)
        readers = list(self.readers_of)
        for task, tensors in self.held_inputs.items():
            inputs[task] = (*inputs[task], *tensors)
            for tensor in tensors:
                readers[tensor] = (*readers[tensor], task)
        self.inputs_of, self.readers_of = inputs, readers


def _held_inputs(problem: Problem, placement: Placement) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    # Elders are more urgent, so what an elder waits for is known before it is asked for.
    for hold in sorted(placement.holds, key=lambda h: placement.priority[h.task]):
        own = problem.inputs_of[hold.task]
        known = found.get(hold.task, ())
        elders = (*problem.inputs_of[hold.elder], *found.get(hold.elder, ()))
        found[hold.task] = tuple(sorted({*known, *elders}.difference(own)))
    return {task: tensors for task, tensors in found.items() if tensors}


def _held_copies(problem: Problem, placement: Placement) -> dict[CopyKey, tuple[int, ...]]:
    found: dict[CopyKey, tuple[int, ...]] = {}

    def rank(hold: CopyHold) -> tuple[bool, int, int]:
        return copy_rank(problem, placement, hold.tensor, hold.memory)

    for hold in sorted(placement.copy_holds, key=rank):
        key = hold.tensor, hold.memory
        elders = found.get((hold.elder, hold.memory), ())
        found[key] = tuple(sorted({*found.get(key, ()), *elders, hold.elder}))
    return found
