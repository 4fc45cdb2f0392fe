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

    def slowdowns_ppm(self, groups: Sequence[Group]) -> Sequence[int]:
        """Times of groups side by side on a device, each in millionths of its time alone.

        At least ``UNIT_PPM``. Integers, so that simulated time stays exact. Asked whenever one
        begins or ends: of all at once, so that what they come to together is found once.
        """
        ...


INTERFERENCES: Registry[Interference] = Registry("interference model")
"""Factories take the names of the services, then options."""
