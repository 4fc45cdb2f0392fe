"""Who was in a query's way: stretches of its time, cut where another query begins or ends to be it.

Where a segment waits for a lane it is whoever holds the lane on which it starts in the end, or
another process, where that lane waited for it; where a begun segment's place is lent it is whoever
runs there. A segment's service beyond what it usually takes is told apart, at its end: when it was
slow is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surplus.engine.explain.breakdown import Breakdown, BreakdownPiece
from surplus.engine.explain.categories import Category
from surplus.engine.explain.flown_spans import QUERY, FlownSpans
from surplus.placement.timeline import Span

_WAITS = (Category.QUEUEING, Category.QUEUEING_OTHERS, Category.SEATS, Category.GATE)
_MAY_BE_ELSEWHERE = (Category.DISPATCH, Category.SUBMISSION)
"""What a wait for another process seems to be while other lanes are free."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """What a query waited for: a segment of a model on a lane, or another process's cores."""

    model: str
    segment: str
    device: str
    lane: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a query's time.

    Parameters
    ----------
    category : Category
        What it went to.
    start_ns, end_ns : int
        On the query's clock.
    segment : str
        Of the query, that ran or waited; empty where it is none.
    culprit : Culprit or None
        Of another query; None if there is none, or it is not known.
    is_between : bool
        Whether it was a wait after the query's first segment.
    """

    category: Category
    start_ns: int
    end_ns: int
    segment: str = ""
    culprit: Culprit | None = None
    is_between: bool = False

    @property
    def duration_ns(self) -> int:
        """How long."""
        return self.end_ns - self.start_ns


def blamed(found: Breakdown, flown: FlownSpans) -> tuple[Stretch, ...]:
    """Name the culprits of a breakdown; the stretches add up to what its pieces do."""
    first = found.path[0] if found.path else None
    stretches: list[Stretch] = []
    for piece in found.pieces:
        if piece.span is None:
            stretches.append(Stretch(piece.category, piece.start_ns, piece.end_ns))
        elif piece.category in _WAITS:
            stretches += _waited(piece, piece.span, flown, is_between=piece.span is not first)
        elif piece.category in _MAY_BE_ELSEWHERE and flown.elsewhere:
            stretches += _handed_over(piece, piece.span, flown, is_between=piece.span is not first)
        elif piece.category is Category.SERVICE:
            stretches += _served(piece, piece.span, flown)
        else:
            times = piece.start_ns, piece.end_ns
            stretches.append(Stretch(piece.category, *times, piece.span.name))
    return tuple(stretches)


def _waited(
    piece: BreakdownPiece, span: Span, flown: FlownSpans, *, is_between: bool
) -> Iterator[Stretch]:
    """Cut a wait by who holds the lane."""
    holders = [
        other
        for other in flown.spans
        if other is not span and other.query != QUERY and _meet(other, piece, span)
    ]
    for start, end in _cuts(holders, piece.start_ns, piece.end_ns):
        there = [other for other in holders if other.start_ns <= start < other.end_ns]
        holder = max(there, key=lambda o: (o.lanes[0] == span.lanes[0], o.start_ns), default=None)
        culprit = None if holder is None else _culprit(holder)
        category = Category.ELSEWHERE if id(holder) in flown.elsewhere else piece.category
        yield Stretch(category, start, end, span.name, culprit, is_between)


def _handed_over(
    piece: BreakdownPiece, span: Span, flown: FlownSpans, *, is_between: bool
) -> Iterator[Stretch]:
    """Cut a hand-over where the segment's own lane waited for another process meanwhile."""
    waits = [
        other
        for other in flown.spans
        if id(other) in flown.elsewhere
        and _meet(other, piece, span)
        and other.lanes[0] == span.lanes[0]
    ]
    for start, end in _cuts(waits, piece.start_ns, piece.end_ns):
        there = [other for other in waits if other.start_ns <= start < other.end_ns]
        if there:
            culprit = _culprit(there[0])
            yield Stretch(Category.ELSEWHERE, start, end, span.name, culprit, is_between)
        else:
            yield Stretch(piece.category, start, end, span.name)


def _served(piece: BreakdownPiece, span: Span, flown: FlownSpans) -> Iterator[Stretch]:
    """Cut a segment's service by who has its place, and what it usually takes."""
    others = [
        other
        for other in flown.spans
        if id(other) in flown.borrowed
        and other.query != QUERY
        and _meet(other, piece, span)
        and other.start_ns >= span.start_ns
        and set(other.lanes) & set(span.lanes)
    ]
    left_ns = flown.usual_ns.get(span.index, 0) or piece.duration_ns
    for start, end in _cuts(others, piece.start_ns, piece.end_ns):
        there = [other for other in others if other.start_ns <= start < other.end_ns]
        if there:
            culprit = _culprit(max(there, key=lambda other: other.start_ns))
            yield Stretch(Category.PREEMPTED, start, end, span.name, culprit)
            continue
        usual_end = min(end, start + left_ns)
        left_ns -= usual_end - start
        if usual_end > start:
            yield Stretch(Category.SERVICE, start, usual_end, span.name)
        if end > usual_end:
            yield Stretch(Category.SLOWER, usual_end, end, span.name)


def _meet(other: Span, piece: BreakdownPiece, span: Span) -> bool:
    """Whether another span runs on the same device during the piece."""
    same = other.resource == span.resource
    return same and other.start_ns < piece.end_ns and other.end_ns > piece.start_ns


def _cuts(spans: Sequence[Span], start_ns: int, end_ns: int) -> Iterator[tuple[int, int]]:
    """The stretches between all moments at which a span begins or ends."""
    inner = {moment for span in spans for moment in (span.start_ns, span.end_ns)}
    moments = sorted(m for m in inner if start_ns < m < end_ns)
    return pairwise([start_ns, *moments, end_ns])


def _culprit(span: Span) -> Culprit:
    return Culprit(span.category, span.name, span.resource, span.lanes[0])
