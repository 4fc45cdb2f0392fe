"""What several policies propose for one problem."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy
from surplus.placement.problem import Problem


def check_proposers(policies: tuple[str, ...], asker: str) -> None:
    """Raise ValueError unless these are names of policies, other than who asks them."""
    if not isinstance(policies, tuple) or not policies:
        raise ValueError(f"policies must be a tuple of names, got {policies!r}")
    if asker in policies:
        raise ValueError(f"policies must not contain {asker!r} itself")
    for name in policies:
        make_policy(name)


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
