"""The extension point of interference: what neighbours on a device cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from surplus.colocation.frame.registry import Registry
from surplus.colocation.frame.work import Group

UNIT_PPM = 1_000_000
"""Full speed."""


class Interference(Protocol):
    """A ground truth of the simulator, or a belief of a policy; never the same object."""

    def slowdown_ppm(self, group: Group, others: Sequence[Group]) -> int:
        """Time of a group beside others on its device, in millionths of its time alone.

        At least ``UNIT_PPM``. An integer, so that simulated time stays exact.
        """
        ...


INTERFERENCES: Registry[Interference] = Registry("interference model")
"""Factories take the names of the services, then options."""
