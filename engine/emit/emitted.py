"""What is handed to another runtime, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from surplus.engine.dfg.graph import Graph
from surplus.placement.bounds import lower_bounds
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate
from surplus.placement.timeline import Timeline


@dataclass(frozen=True)
class Placed:
    """A model and where its tasks run.

    Parameters
    ----------
    model_path : Path
        The user's file.
    graph : Graph
        Its tasks, by index those of ``problem``.
    proven_ns : int
        What a solver has proven that no placement is below; 0 if none was asked.
    """

    model_path: Path
    graph: Graph
    problem: Problem
    placement: Placement
    proven_ns: int = 0

    @cached_property
    def timeline(self) -> Timeline:
        """One query, as the simulator predicts it."""
        return simulate(self.problem, self.placement)

    @cached_property
    def bound_ns(self) -> int:
        """No placement of the problem is faster."""
        return max(self.proven_ns, lower_bounds(self.problem).makespan_ns)

    @property
    def gap(self) -> float:
        """How much of the predicted makespan a better plan could save at most."""
        makespan_ns = self.timeline.makespan_ns
        return (makespan_ns - self.bound_ns) / makespan_ns if makespan_ns else 0.0

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Names of the devices that run a task, the host's first."""
        return tuple(
            device.name
            for index, device in enumerate(self.problem.devices)
            if index in self.placement.device_of
        )


@dataclass(frozen=True)
class Emitted:
    """What was written.

    Parameters
    ----------
    files : tuple of Path
        The first says how to use the others.
    remarks : tuple of str
        What the other runtime does not do as planned, a sentence each.
    """

    files: tuple[Path, ...]
    remarks: tuple[str, ...]


Emitter = Callable[[Placed, Path], Emitted]
"""Writes into a folder that exists; raises PlacementError for plans that the runtime cannot run."""
