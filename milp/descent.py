"""A plan improved by small changes, each tried on the native evaluator: where nothing better is."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from random import Random

import numpy as np

from surplus.milp.deadline import Deadline
from surplus.placement.evaluator import compiled
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

_NAME = "descent"

_WARMTH = 0.01
"""By what share of the plan a change for the worse may at first be taken with 1 in e chance."""

_CHECK_EVERY = 16


def descended(
    problem: Problem,
    start: Placement,
    devices: Sequence[Sequence[int]],
    deadline: Deadline,
    seed: int = 0,
) -> Placement:
    """Move tasks between devices and in the order until a deadline, ever less for the worse.

    Parameters
    ----------
    start : Placement
        Where it begins: what it returns is no longer by simulation.
    devices : sequence of sequence of int
        Those that each task may use.
    """
    walk = _Walk(problem, start, devices, Random(seed))
    whole_s = deadline.left_s
    while whole_s and (left_s := deadline.left_s) > 0:
        warmth_ns = _WARMTH * walk.best_ns * left_s / whole_s
        for _ in range(_CHECK_EVERY):
            walk.step(warmth_ns)
    return Placement(tuple(walk.best[0].tolist()), tuple(walk.best[1].tolist()), _NAME)


class _Walk:
    def __init__(
        self,
        problem: Problem,
        start: Placement,
        devices: Sequence[Sequence[int]],
        random: Random,
    ) -> None:
        self._problem = problem
        self._devices = devices
        self._random = random
        self._evaluator = compiled(problem)
        self._free = [i for i, choices in enumerate(devices) if len(choices) > 1]
        self._device_of = np.array(start.device_of, np.int64)
        self._priority = np.array(start.priority, np.int64)
        self._now_ns = self._length(self._device_of, self._priority)
        self.best = (self._device_of, self._priority)
        self.best_ns = self._now_ns

    def step(self, warmth_ns: float) -> None:
        """Try one change."""
        device_of, priority = self._device_of.copy(), self._priority.copy()
        if self._free and self._random.random() < 0.7:
            self._move(device_of)
        else:
            a, b = (self._random.randrange(len(priority)) for _ in range(2))
            priority[a], priority[b] = priority[b], priority[a]
        length_ns = self._length(device_of, priority)
        longer_ns = length_ns - self._now_ns
        if longer_ns <= 0 or self._random.random() < exp(-longer_ns / (warmth_ns + 1)):
            self._device_of, self._priority, self._now_ns = device_of, priority, length_ns
            if length_ns < self.best_ns:
                self.best, self.best_ns = (device_of, priority), length_ns

    def _move(self, device_of: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """One task to another device, with one of those that wait for it, or instead of one."""
        task, kind = self._random.choice(self._free), self._random.random()
        left = device_of[task]
        device = self._random.choice([d for d in self._devices[task] if d != left])
        device_of[task] = device
        followers = self._problem.successors[task]
        if kind < 0.3 and followers:
            other, target = self._random.choice(followers), device
        elif kind < 0.6:
            other, target = self._random.choice(self._free), left
        else:
            return
        if target in self._devices[other] and other != task:
            device_of[other] = target

    def _length(
        self,
        device_of: np.ndarray[tuple[int], np.dtype[np.int64]],
        priority: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> int:
        return self._evaluator.makespan_ns(device_of, priority, False)
