"""Moves tasks, one or two at a time, as long as that relieves the busiest resource.

A relaxation that is rounded leaves a resource busier than another by part of a task. One task
that moves makes up for a difference of its own size; of two there are so many pairs that one
fits nearly any difference. Prices say which moves are worth looking at: what one adds to the
priced sum of all resources is lost for good, so those that add least are paired.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from surplus.milp.deadline import Deadline
from surplus.placement.occupancy import Occupancy
from surplus.placement.problem import Problem

_PAIRED = 800
"""Moves of which each pair is tried, at most."""

_CELLS = 4 << 20
"""Of the table of pairs and resources, at most."""

_LEAST_NS = 0.5
"""A gain of less is none: sums of floats are off by far less."""


def exchanged(
    problem: Problem, device_of: Sequence[int], prices: Mapping[str, float], deadline: Deadline
) -> list[int]:
    """Devices with which the busiest resource is held no longer than with the given ones.

    Parameters
    ----------
    prices : mapping of str to float
        Of a nanosecond of each resource; 0 of those that are not named.
    deadline : Deadline
        When to stop with what there is.
    """
    search = _Exchange(problem, device_of, prices, deadline)
    # Once at least: what was looked at before the time was over is worth it.
    while search.improve() and not deadline.is_over:
        pass
    return search.occupancy.device_of


class _Exchange:
    """What each move changes each resource by; the last row is of no move at all."""

    def __init__(
        self,
        problem: Problem,
        device_of: Sequence[int],
        prices: Mapping[str, float],
        deadline: Deadline,
    ) -> None:
        self._problem, self._deadline = problem, deadline
        self.occupancy = Occupancy(problem, device_of)
        self._prices = np.array([prices.get(name, 0.0) for name in self.occupancy.held_ns])
        self._moves = [
            (i, d)
            for i, task in enumerate(problem.tasks)
            for d, service_ns in enumerate(task.service_ns)
            if service_ns is not None
        ]
        self._rows_of: dict[int, list[int]] = defaultdict(list)
        for row, (task, _) in enumerate(self._moves):
            self._rows_of[task].append(row)
        self._changes = np.zeros((len(self._moves) + 1, len(self._prices)))
        self._losses = np.full(len(self._moves) + 1, np.inf)
        self._losses[-1] = -np.inf
        self._look(range(len(problem.tasks)))

    def improve(self) -> bool:
        """Make the pair of moves that relieves the busiest most; whether there is one."""
        held, ranked = self._held(), self._ranked()
        changes = self._changes[ranked]
        worst = (held + changes[:, None, :] + changes[None, :, :]).max(axis=2)
        worst[self._meet(ranked)] = np.inf
        pair = np.unravel_index(int(worst.argmin()), worst.shape)
        if worst[pair] > held.max() - _LEAST_NS:
            return False
        moved = [self._moves[row] for row in ranked[list(pair)] if row < len(self._moves)]
        for task, device in moved:
            self.occupancy.move(task, device)
        self._look({near for task, _ in moved for near in self._near(task)})
        return True

    def _held(self) -> NDArray[np.float64]:
        return np.array(list(self.occupancy.held_ns.values()))

    def _ranked(self) -> NDArray[np.intp]:
        """Rows of the moves that lose least, no move first."""
        most = min(_PAIRED, isqrt(_CELLS // len(self._prices)))
        ranked = np.argsort(self._losses, kind="stable")[:most]
        return ranked[self._losses[ranked] < np.inf]

    def _meet(self, ranked: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Pairs whose changes do not add up: of one task, or of two that share a tensor."""
        met = np.zeros((len(ranked), len(ranked)), np.bool_)
        by_tensor: dict[int, list[int]] = defaultdict(list)
        by_task: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(ranked.tolist()):
            if row < len(self._moves):
                task = self._moves[row][0]
                by_task[task].append(place)
                for tensor in self._tensors(task):
                    by_tensor[tensor].append(place)
        for places in (*by_task.values(), *by_tensor.values()):
            met[np.ix_(places, places)] = True
        return met

    def _look(self, tasks: Iterable[int]) -> None:
        """Move each task there and back, and see what that changes."""
        for task in tasks:
            if self._deadline.is_over:
                return
            here, before = self.occupancy.device_of[task], self._held()
            for row in self._rows_of[task]:
                self.occupancy.move(task, self._moves[row][1])
                self._changes[row] = self._held() - before
                stays = self._moves[row][1] == here
                self._losses[row] = np.inf if stays else self._changes[row] @ self._prices
            self.occupancy.move(task, here)

    def _near(self, task: int) -> set[int]:
        """The task and all that share a tensor with it."""
        tensors = [self._problem.tensors[index] for index in self._tensors(task)]
        readers = {reader for tensor in tensors for reader in tensor.consumers}
        return {task} | readers | {t.producer for t in tensors if t.producer >= 0}

    def _tensors(self, task: int) -> set[int]:
        return {*self._problem.inputs_of[task], *self._problem.outputs_of[task]}
