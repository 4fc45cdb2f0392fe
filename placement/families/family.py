"""What a family of problems is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surplus.placement.graph_grower import MachineParams
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class Family:
    """Problems that look alike.

    Parameters
    ----------
    summary : str
        What they look like, in a few words.
    least : int
        The fewest tasks that one has.
    make : callable
        The problem of a number of tasks, exactly, a seed and a machine; always the same for
        the same three.
    """

    summary: str
    least: int
    make: Callable[[int, int, MachineParams], Problem]
