"""What several policies propose for one problem."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy
from surplus.placement.problem import Problem


def proposals(problem: Problem, policies: Sequence[str]) -> list[Placement]:
    """Each policy's, with its own defaults; one that finds nothing that fits drops out.

    Raises
    ------
    InfeasibleError
        The first policy's, if all fail.
    """
    found: list[Placement] = []
    failed: list[InfeasibleError] = []
    for name in policies:
        try:
            found.append(make_policy(name).place(problem))
        except InfeasibleError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    return found
