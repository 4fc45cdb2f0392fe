"""A link of the simulator: copies one after another, through a bounded staging pool."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from surplus.placement.problem import Link
from surplus.placement.streams import Streams


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """A copy that is wanted; the most urgent of a moment compares smallest."""

    urgency: int
    tensor: int
    size_bytes: int = field(compare=False)
    ready_ns: int = field(compare=False)
    consumers: Sequence[int] = field(compare=False)


@dataclass(slots=True)
class Wire:
    """A link: who waits, when it lets go of its last copy, and when each of its lanes is clear.

    Parameters
    ----------
    streams : Streams, optional
        The device whose submitting thread pageable copies hold.
    """

    link: Link
    streams: Streams | None = None
    free_at_ns: int = 0
    staged_bytes: int = 0
    asked: list[Asked] = field(default_factory=list)
    waiting: deque[Asked] = field(default_factory=deque)
    lane_clear_ns: list[int] = field(default_factory=list)

    def take_next(self) -> Asked | None:
        """The next copy that may start now, taken out; None if there is none."""
        if self.asked:
            self.waiting.extend(sorted(self.asked))
            self.asked.clear()
        if not self.waiting:
            return None
        need = self.staged(self.waiting[0].size_bytes)
        pool = self.link.staging_bytes
        if pool is not None and self.staged_bytes and self.staged_bytes + need > pool:
            return None
        self.staged_bytes += need
        return self.waiting.popleft()

    def staged(self, size_bytes: int) -> int:
        """How much of the pool a copy holds until its data is there."""
        pool = self.link.staging_bytes
        return 0 if pool is None else min(size_bytes, pool)

    def start(self, size_bytes: int, now: int) -> tuple[int, int]:
        """Hold the link for a copy; its start and the moment at which its data is there."""
        pageable = self.streams if self.link.pageable else None
        start = max(now, self.free_at_ns)
        if pageable is not None:
            start = pageable.free_ns(start)
        self.free_at_ns = start + self.link.hold_ns(size_bytes)
        if pageable is not None:
            pageable.hold(self.free_at_ns)
        return start, self.free_at_ns + self.link.latency_ns

    def lane_at(self, start_ns: int, end_ns: int) -> int:
        """Lowest lane that shows no copy any more at ``start_ns``."""
        for lane, clear_ns in enumerate(self.lane_clear_ns):
            if clear_ns <= start_ns:
                self.lane_clear_ns[lane] = end_ns
                return lane
        self.lane_clear_ns.append(end_ns)
        return len(self.lane_clear_ns) - 1
