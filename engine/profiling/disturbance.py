"""How much of this process's cores went to others while something was measured.

On a machine that others use, a plan for fewer lanes may win only because the others take a core. So
whoever measures notes what was taken, and what was measured while more than ``QUIET`` of the
cores was away is not trusted for good (contest/contest.py, segmentation/judgement.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surplus.engine.devices.parsing import available_cores
from surplus.engine.profiling.counters import Counters, read_counters

QUIET = 0.1
"""Share of the cores that may be away without mattering: what a desktop takes, and what ticks of
10 ms err by in a second."""

WINDOW_NS = 200_000_000
"""The kernel counts in ticks of 10 ms: what is shorter says too little."""

ReadCounters = Callable[[], Counters]


@dataclass(frozen=True)
class Disturbance:
    """What others took, as shares from 0 to 1.

    Parameters
    ----------
    taken : float
        Of the cores' time, by other processes.
    stolen : float
        Of the cores' time, by other virtual machines.
    waited : float
        Of the time that our threads could have run, what they waited for a core.
    """

    taken: float = 0.0
    stolen: float = 0.0
    waited: float = 0.0

    @property
    def share(self) -> float:
        """Of the cores, what was away. Threads wait for others of their own process, too."""
        return min(1.0, self.taken + self.stolen)

    @property
    def is_quiet(self) -> bool:
        """Whether what was measured meanwhile holds on a machine that nobody else uses."""
        return self.share <= QUIET

    @property
    def text(self) -> str:
        """For people."""
        return f"{100 * self.share:.0f} % of the cores taken, {100 * self.waited:.0f} % waiting"


def disturbance(before: Counters, after: Counters, cores: int) -> Disturbance:
    """What happened between two readings; nothing where no time passed."""
    span_ns = cores * (after.time_ns - before.time_ns)
    if span_ns <= 0:
        return Disturbance()
    others_ns = after.busy_ns - before.busy_ns - (after.own_ns - before.own_ns)
    # Of a container's share of a larger machine the others take what does not fit beside it.
    others_ns -= (after.cpus - cores) * (after.time_ns - before.time_ns)
    stolen_ns = after.stolen_ns - before.stolen_ns
    ran_ns, waited_ns = _ran_and_waited_ns(before, after)
    return Disturbance(
        taken=_share(others_ns, span_ns),
        stolen=_share(stolen_ns, span_ns),
        waited=_share(waited_ns, ran_ns + waited_ns),
    )


def _ran_and_waited_ns(before: Counters, after: Counters) -> tuple[int, int]:
    ran = waited = 0
    for thread, (own_ran, own_waited) in after.waits.items():
        earlier = before.waits.get(thread, (0, 0))
        ran += own_ran - earlier[0]
        waited += own_waited - earlier[1]
    return ran, waited


def _share(part_ns: int, whole_ns: int) -> float:
    return min(1.0, max(0.0, part_ns / whole_ns)) if whole_ns > 0 else 0.0


class Watch:
    """Says what others took lately and since it began. For one thread."""

    def __init__(self, read: ReadCounters = read_counters, cores: int | None = None) -> None:
        self._read = read
        self._cores = cores or available_cores()
        self._first = self._last = read()
        self._recent = [self._first]

    def lately(self, since_ns: int) -> Disturbance:
        """Since that time on the counters' clock, or longer ago where that is below a window."""
        self._last = self._read()
        from_ns = min(since_ns, self._last.time_ns - WINDOW_NS)
        while len(self._recent) > 1 and self._recent[1].time_ns <= from_ns:
            del self._recent[0]
        self._recent.append(self._last)
        return disturbance(self._recent[0], self._last, self._cores)

    def overall(self) -> Disturbance:
        """Since it began, up to the last reading."""
        return disturbance(self._first, self._last, self._cores)
