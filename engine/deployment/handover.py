"""What is new serves before what is old stops.

A replica that the plan no longer has serves on until all that the plan has of its model are ready.
Then clients are told of it no more, and it is unloaded only when those that were told before have
asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

Placed = Mapping[str, Set[str]]
"""Models, by the id of the node that has them."""


@dataclass(frozen=True)
class Duty:
    """What holds now.

    Parameters
    ----------
    told : mapping of str to set of str
        Models that clients are told of, by node.
    held : mapping of str to set of str
        Models that are to be loaded, by node; nodes without any are left out.
    """

    told: Placed
    held: Placed


class Handover:
    """Goes from plan to plan.

    Parameters
    ----------
    grace_ns : int
        For which a replica serves on that clients are no longer told of.
    """

    def __init__(self, grace_ns: int) -> None:
        self._grace_ns = grace_ns
        self._told_ns: dict[tuple[str, str], int] = {}

    def step(self, wanted: Placed, ready: Placed, now_ns: int) -> Duty:
        """Look at what is planned and what is there.

        Parameters
        ----------
        wanted : mapping of str to set of str
            The plan's.
        ready : mapping of str to set of str
            What nodes serve that answer; the others are left out.
        now_ns : int
            Of a monotonic clock.
        """
        missing = {
            model for node, models in wanted.items() for model in models - ready.get(node, set())
        }
        told: dict[str, set[str]] = {}
        held: dict[str, set[str]] = {node: set(models) for node, models in wanted.items() if models}
        for node, models in ready.items():
            own = wanted.get(node, set())
            for model in models:
                if model in own or model in missing:
                    told.setdefault(node, set()).add(model)
                    self._told_ns[node, model] = now_ns
                if model in own:
                    continue
                if now_ns - self._told_ns.get((node, model), -self._grace_ns) < self._grace_ns:
                    held.setdefault(node, set()).add(model)
        self._told_ns = {
            key: told_ns
            for key, told_ns in self._told_ns.items()
            if now_ns - told_ns < self._grace_ns
        }
        return Duty(told, held)
