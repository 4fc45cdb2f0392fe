"""The bounded share of queries' time that may be lost to finding a better plan.

Answers that come later than they would have, since they tried another plan, since sessions were
opened or plans were measured beside them: all of that is regret, and is charged here. What was
done while no query waited costs nothing.
"""

from __future__ import annotations

import threading

REGRET = 0.01
"""Share of the queries' time."""


class Share:
    """How much time may be lost so far, and how much was. Thread-safe.

    Parameters
    ----------
    of_time : float
        0 to 1: the share of queries' time.

    Attributes
    ----------
    queries_ns, lost_ns : int
        Time of all queries that were counted, and what finding better plans cost them.
    """

    def __init__(self, of_time: float = REGRET) -> None:
        if not 0 <= of_time <= 1:
            raise ValueError(f"of_time must be 0 to 1, got {of_time}")
        self._of_time = of_time
        self._lock = threading.Lock()
        self.queries_ns = 0
        self.lost_ns = 0

    def earn(self, queries_ns: int) -> None:
        """Count the time of queries."""
        with self._lock:
            self.queries_ns += queries_ns

    def spend(self, lost_ns: int) -> None:
        """Charge what was lost, whether or not it was there: later gains pay it first."""
        with self._lock:
            self.lost_ns += lost_ns

    @property
    def left_ns(self) -> int:
        """What may be lost now; negative where more was lost than was foreseen."""
        return int(self._of_time * self.queries_ns) - self.lost_ns

    def affords(self, lost_ns: int) -> bool:
        """Whether so much may be lost now."""
        return lost_ns <= self.left_ns
