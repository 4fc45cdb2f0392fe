"""The extension point of predictors: how long a policy thinks that a group takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.registry import Registry
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Piece


class Predictor(Protocol):
    """Predicts groups; never told what the simulator takes for the truth."""

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Predicted time of pieces that run side by side in a partition."""
        ...

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """Predicted time of a whole batch that runs alone."""
        ...


PREDICTORS: Registry[Predictor] = Registry("predictor")
"""Factories take the services and their profiles, then options."""

Services = tuple[Service, ...]
Profiles = tuple[LatencyProfile, ...]
