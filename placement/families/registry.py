"""The extension point: a family is a file with a ``Family``, named here."""

from __future__ import annotations

from surplus.placement.families import (
    adversarial,
    detector,
    fork_join,
    inception,
    layered,
    recommender,
    series_parallel,
    transformer,
)
from surplus.placement.families.family import Family
from surplus.placement.graph_grower import MachineParams
from surplus.placement.problem import Problem

FAMILIES: dict[str, Family] = {
    "detector": detector.FAMILY,
    "inception": inception.FAMILY,
    "recommender": recommender.FAMILY,
    "series-parallel": series_parallel.FAMILY,
    "layered": layered.FAMILY,
    "fork-join": fork_join.FAMILY,
    "transformer": transformer.FAMILY,
    "adversarial": adversarial.FAMILY,
}
"""By name."""

TASKS_MOST = 1_000_000


def family_problem(
    name: str, tasks: int, seed: int, machine: MachineParams | None = None
) -> Problem:
    """A problem of a family.

    Parameters
    ----------
    tasks : int
        How many it has, exactly.

    Raises
    ------
    ValueError
        If the family is unknown, or has no problem of so few or so many tasks.
    """
    if name not in FAMILIES:
        raise ValueError(f"unknown family {name!r}; there are: {', '.join(FAMILIES)}")
    family = FAMILIES[name]
    if not family.least <= tasks <= TASKS_MOST:
        raise ValueError(f"tasks of {name!r} must be {family.least} to {TASKS_MOST}, got {tasks}")
    return family.make(tasks, seed, machine or MachineParams())
