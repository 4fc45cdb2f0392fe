"""Contenders that only pretend to take time, on a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat

from surplus.engine.contest.contest import ContestTurn
from surplus.placement.timeline import Span, SpanKind, Timeline


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def spans_of(times_ns: Sequence[int]) -> Timeline:
    """Segments of one lane, one after the other."""
    spans, now = [], 0
    for index, time_ns in enumerate(times_ns):
        spans.append(
            Span(SpanKind.SEGMENT, index, f"s{index}", "s", "cpu", (0,), now, now, now + time_ns)
        )
        now += time_ns
    return Timeline.of(spans, "measured")


class Pretended:
    """Takes the times given, the last one for ever; notes in a shared list that it ran."""

    def __init__(
        self,
        clock: Clock,
        times_ns: Sequence[int],
        order: list[Pretended] | None = None,
        speed: Callable[[], float] = lambda: 1.0,
    ) -> None:
        self._clock = clock
        self._times: Iterator[int] = chain(times_ns, repeat(times_ns[-1]))
        self._order = [] if order is None else order
        self._speed = speed

    def run(self) -> None:
        self.run_traced()

    def run_traced(self) -> ContestTurn:
        self._order.append(self)
        time_ns = round(next(self._times) * self._speed())
        self._clock.now_ns += time_ns
        return ContestTurn(time_ns, spans_of([time_ns]), time_ns)
