"""How placements cross to the solver's process and back: by names of the program's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.milp.cpsat import names
from surplus.placement.problem import Problem

Values = Mapping[str, float]
"""By a variable's name; absent ones are 0."""


def values_of(device_of: Sequence[int]) -> dict[str, float]:
    """A placement as an answer or a start."""
    return {names.placed(task, device): 1.0 for task, device in enumerate(device_of)}


def devices_of(problem: Problem, values: Values) -> list[int]:
    """Where an answer puts the tasks."""
    devices = range(len(problem.devices))
    return [
        max(devices, key=lambda device: values.get(names.placed(task, device), 0.0))
        for task in range(len(problem.tasks))
    ]
