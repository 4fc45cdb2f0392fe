"""Who holds the lanes of a resource, and what a span there waits for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from surplus.engine.explain.categories import Category
from surplus.placement.timeline import Span

_Window = tuple[int, int, Span]
"""From, until, whose."""


class LaneOccupancy:
    """The lanes of one device or link over time.

    Parameters
    ----------
    spans : iterable of Span
        Everything that ran there, of all queries.
    lanes : int
        How many there are, >= 1.
    """

    def __init__(self, spans: Iterable[Span], lanes: int) -> None:
        rows = list(spans)
        self._lanes = lanes
        self._held = _Windows((s.start_ns, s.end_ns, s) for s in rows)
        self._gated = _Windows((s.ready_ns, s.start_ns, s) for s in rows if len(s.lanes) > 1)

    def waits(self, span: Span, start_ns: int, end_ns: int) -> Iterator[tuple[Category, int]]:
        """Say what ``span``, which is ready, waits for between two moments.

        Yields
        ------
        tuple of Category and int
            What for, and until when; the last ends at ``end_ns``.
        """
        held = [w for w in self._held.overlapping(start_ns, end_ns) if w[2] is not span]
        gated = [
            w
            for w in self._gated.overlapping(start_ns, end_ns)
            if w[2] is not span and w[2].start_ns <= span.start_ns
        ]
        now_held, now_gated = _Active(held), _Active(gated)
        for begin, until in pairwise(_cuts((*held, *gated), start_ns, end_ns)):
            category = self._reason(span, now_held.at(begin), now_gated.at(begin))
            yield category, until

    def _reason(self, span: Span, holders: Sequence[Span], gates: Sequence[Span]) -> Category:
        free = self._lanes - sum(map(_width, holders))
        if free >= _width(span):
            # A gate closes only where lanes are too few for the wide segment.
            kept = any(free < _width(gate) for gate in gates)
            return Category.GATE if kept else Category.DISPATCH
        if free > 0:
            return Category.SEATS
        others = any(holder.query != span.query for holder in holders)
        return Category.QUEUEING_OTHERS if others else Category.QUEUEING


def _width(span: Span) -> int:
    return max(1, len(span.lanes))


def _cuts(windows: Iterable[_Window], start_ns: int, end_ns: int) -> list[int]:
    """Every moment at which something may change, the ends included; none if nothing is between."""
    if start_ns >= end_ns:
        return []
    inner = {moment for begin, until, _ in windows for moment in (begin, until)}
    return [start_ns, *sorted(m for m in inner if start_ns < m < end_ns), end_ns]


class _Windows:
    """Windows of time, to be asked which of them overlap another one."""

    def __init__(self, windows: Iterable[_Window]) -> None:
        self._windows = sorted(windows, key=lambda w: (w[0], w[1]))
        self._begins = [begin for begin, _, _ in self._windows]
        self._latest = list(accumulate((until for _, until, _ in self._windows), max))

    def overlapping(self, start_ns: int, end_ns: int) -> list[_Window]:
        """Those that share time with ``[start_ns, end_ns)``, by their begin."""
        found: list[_Window] = []
        at = bisect_left(self._begins, end_ns)
        while at > 0 and self._latest[at - 1] > start_ns:
            at -= 1
            if self._windows[at][1] > start_ns:
                found.append(self._windows[at])
        return found[::-1]


class _Active:
    """Which windows are open, asked at moments that only go forward."""

    def __init__(self, by_begin: Sequence[_Window]) -> None:
        self._coming = list(reversed(by_begin))
        self._open: list[_Window] = []

    def at(self, moment_ns: int) -> list[Span]:
        while self._coming and self._coming[-1][0] <= moment_ns:
            self._open.append(self._coming.pop())
        self._open = [window for window in self._open if window[1] > moment_ns]
        return [span for _, _, span in self._open]
