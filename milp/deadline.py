"""When a search has to end: one object that preparation, bounds, solvers and joining ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic


def _now() -> float:
    return monotonic()


@dataclass(frozen=True)
class Deadline:
    """An instant on a monotonic clock.

    Parameters
    ----------
    ends_s : float
        When the time is over.
    clock : callable
        Seconds from any beginning, never backwards.
    """

    ends_s: float
    clock: Callable[[], float] = field(default=_now, compare=False)

    @staticmethod
    def after(limit_s: float, clock: Callable[[], float] = _now) -> Deadline:
        """The deadline so many seconds from now."""
        return Deadline(clock() + limit_s, clock)

    @property
    def left_s(self) -> float:
        """Seconds that are left, >= 0."""
        return max(0.0, self.ends_s - self.clock())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.clock() >= self.ends_s

    def part(self, share: float) -> Deadline:
        """An earlier one, after a share in [0, 1] of what is left."""
        return self.within(share * self.left_s)

    def unless(self, is_cancelled: Callable[[], bool]) -> Deadline:
        """The same, but over at once when that says so."""
        clock = self.clock
        return replace(self, clock=lambda: inf if is_cancelled() else clock())

    def within(self, limit_s: float) -> Deadline:
        """An earlier one, so many seconds from now at most."""
        return replace(self, ends_s=min(self.ends_s, self.clock() + limit_s))
