"""How much memory a search may take, its solvers' processes included.

What is about to be done is held against what is left, by what it took where it was measured; a
solver's process, which nobody can foretell, is looked at while it runs (solvers/process.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from surplus.placement.memory_words import bytes_in_words
from surplus.placement.process_memory import resident_bytes


@dataclass(frozen=True)
class MemoryLimit:
    """The most that this process and those of its solvers may hold together.

    Parameters
    ----------
    limit_bytes : int or None
        None is no limit.
    """

    limit_bytes: int | None = None

    @property
    def left_bytes(self) -> float:
        """What this process has not taken yet; infinite without a limit."""
        return inf if self.limit_bytes is None else max(0, self.limit_bytes - resident_bytes())

    def share_bytes(self, share: float) -> int:
        """What one of several processes may take, at least a byte; 0 without a limit."""
        return 0 if self.limit_bytes is None else max(1, int(share * self.left_bytes))

    def fault(self, what: str, needs_bytes: float, share: float = 1.0) -> str | None:
        """Why something cannot be done in a share of what is left; None if it can."""
        left_bytes = self.left_bytes
        if self.limit_bytes is None or needs_bytes <= share * left_bytes:
            return None
        return (
            f"{what} takes about {bytes_in_words(round(needs_bytes))}: of the memory limit of"
            f" {bytes_in_words(self.limit_bytes)} there is"
            f" {bytes_in_words(round(share * left_bytes))} left for it"
        )
