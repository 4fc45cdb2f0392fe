"""What is known of the machine while plans are compared (contest.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from surplus.engine.profiling.disturbance import Disturbance


class Watching(Protocol):
    """Something that says what others took of the machine (engine/profiling/disturbance.py)."""

    def lately(self, since_ns: int) -> Disturbance:
        """Since that time."""

    def overall(self) -> Disturbance:
        """Since it began."""


@dataclass(frozen=True)
class Conditions:
    """What is known beside the turns themselves.

    Parameters
    ----------
    watch : Watching, optional
        Without one the machine counts as undisturbed.
    fallback : int, optional
        The baseline to take where turns decide nothing; None takes what they show all the same.
    """

    watch: Watching | None = None
    fallback: int | None = None
