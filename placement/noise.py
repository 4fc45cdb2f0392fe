"""What a plan promises when service times are not what they were measured to be.

Each sample is the same problem with other service times: each task's, on each device, times a
factor of mean 1 from a lognormal distribution. Its relative deviation is the task's own, where
measurements tell one (``Task.spread_ns``), or else one for all. Every plan is judged by the same
samples, so that what differs is the plans. Copies are as they are: bytes over a bandwidth.

A plan keeps its devices and its priorities, as the runtime does; what it does at which instant
follows from the times of the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import exp, log, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

from surplus.placement.evaluator import arrays, compile_with, held_rows
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, Task

_MAD_OF_NORMAL = 1.4826
"""A normal distribution's deviation over its median absolute deviation."""


@dataclass(frozen=True)
class NoiseParams:
    """How much service times vary.

    Parameters
    ----------
    deviation : float
        Relative standard deviation of times of which nothing is known, 0 to 1.
    measured : bool
        Whether tasks' own spreads count where there are any.
    samples : int
        >= 1.
    seed : int
    """

    deviation: float = 0.2
    measured: bool = False
    samples: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.deviation <= 1:
            raise ValueError(f"deviation must be 0 to 1, got {self.deviation}")
        if self.samples < 1:
            raise ValueError(f"samples must be >= 1, got {self.samples}")


@dataclass(frozen=True)
class Promise:
    """Makespans over the samples, nanoseconds."""

    mean_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return asdict(self)


class NoisyProblem:
    """A problem's samples, made once for all plans.

    Parameters
    ----------
    problem : Problem
    params : NoiseParams
    """

    def __init__(self, problem: Problem, params: NoiseParams | None = None) -> None:
        self._problem = problem
        self._samples = [
            compile_with(problem, tasks) for tasks in _samples(problem, params or NoiseParams())
        ]

    def makespans_ns(self, placement: Placement) -> NDArray[np.int64]:
        """Of a plan, by sample."""
        plan, holds = arrays(self._problem, placement), held_rows(self._problem, placement)
        found = [sample.makespan_ns(*plan, False, holds) for sample in self._samples]
        return np.array(found, np.int64)

    def promise(self, placement: Placement) -> Promise:
        """Quantiles of a plan's makespans."""
        found = self.makespans_ns(placement)
        quantiles = np.quantile(found, (0.5, 0.95, 0.99), method="higher").tolist()
        return Promise(round(float(found.mean())), *quantiles)


def _samples(problem: Problem, params: NoiseParams) -> Iterator[list[Task]]:
    random = Random(params.seed)
    for _ in range(params.samples):
        yield [_sample(random, task, params) for task in problem.tasks]


def _sample(random: Random, task: Task, params: NoiseParams) -> Task:
    """With a factor for each device, whatever the width there."""
    factors = [
        1.0 if ns is None else _factor(random, _deviation(task, d, ns, params))
        for d, ns in enumerate(task.service_ns)
    ]
    return replace(
        task,
        service_ns=tuple(
            None if ns is None else round(ns * factor)
            for ns, factor in zip(task.service_ns, factors, strict=True)
        ),
        wider_ns=tuple(
            tuple((width, round(ns * factor)) for width, ns in row)
            for row, factor in zip(task.wider_ns, factors, strict=False)
        ),
    )


def _deviation(task: Task, device: int, service_ns: int, params: NoiseParams) -> float:
    if params.measured and task.spread_ns and service_ns:
        return min(1.0, _MAD_OF_NORMAL * task.spread_ns[device] / service_ns)
    return params.deviation


def _factor(random: Random, deviation: float) -> float:
    """Lognormal with mean 1; draws a number even if it has no effect, so that samples match."""
    normal = random.gauss(0, 1)
    variance = log(1 + deviation**2)
    return exp(sqrt(variance) * normal - variance / 2)
