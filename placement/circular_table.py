"""Which instants of a period something is held, when all that is done comes again each period."""

from __future__ import annotations

from bisect import bisect_left, insort


class CircularTable:
    """A resource that does one thing at a time, in a schedule that repeats itself.

    Parameters
    ----------
    period_ns : int
        After which everything comes again, > 0.
    """

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._held: list[tuple[int, int]] = []
        """Intervals within the period, ascending, none over its end."""

        self._goes_over = False
        """Whether the first one goes on with the last one."""

    def earliest(self, from_ns: int, time_ns: int) -> int | None:
        """The first start, not before that instant, from which it is free for so long.

        What takes no time does not start within what does, nor the other way round.
        """
        if time_ns > self.period_ns:
            return None
        first = self._next_free(from_ns % self.period_ns, time_ns)
        return None if first is None else from_ns + (first - from_ns) % self.period_ns

    def hold(self, start_ns: int, time_ns: int) -> None:
        """Take an interval that is free."""
        begin = start_ns % self.period_ns
        end = begin + time_ns
        insort(self._held, (begin, min(end, self.period_ns)))
        if end > self.period_ns:
            self._goes_over = True
            insort(self._held, (0, end - self.period_ns))

    def _next_free(self, offset: int, time_ns: int) -> int | None:
        """Within the period; looks at each gap once, from the one at the offset on."""
        held, period = self._held, self.period_ns
        if not held:
            return offset
        place = bisect_left(held, (offset, 0))
        at = offset if place == 0 or held[place - 1][1] <= offset else held[place - 1][1]
        for step in range(len(held) + 1):
            index = place + step
            turns, index = divmod(index, len(held))
            begin = held[index][0] + turns * period
            if self._goes_over and at % period == 0:
                at += held[0][1]
            if begin - at >= time_ns:
                return at % period
            at = max(at, held[index][1] + turns * period)
        return None
