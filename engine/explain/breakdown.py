"""Breakdown: where the time of one query went, adding up to all of it.

The critical path is walked back from the query's end: the span that ended last, before it the
one that made it ready, and so on. Every nanosecond between the call and the answer then belongs
to one span of the path and to one category (categories.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from surplus.engine.explain.call_times import CallTimes
from surplus.engine.explain.categories import Category
from surplus.engine.explain.causes import Causes
from surplus.engine.explain.critical_path import critical_path
from surplus.engine.explain.lane_use import LaneOccupancy
from surplus.engine.explain.utilisation import LaneUse, utilisation
from surplus.placement.timeline import Span, SpanKind, Timeline

Part = tuple[Category, str]
"""A category on a device or link; no resource for what concerns none."""


@dataclass(frozen=True, slots=True)
class BreakdownPiece:
    """A stretch of a query's time and what it went to; ``span`` ran or waited then."""

    category: Category
    start_ns: int
    end_ns: int
    span: Span | None = None

    @property
    def duration_ns(self) -> int:
        """How long."""
        return self.end_ns - self.start_ns

    @property
    def resource(self) -> str:
        """The device or link of its span, or nothing."""
        return self.span.resource if self.span is not None else ""


@dataclass(frozen=True)
class Breakdown:
    """All of a query's time.

    Parameters
    ----------
    pieces : tuple of BreakdownPiece
        In order of time, each beginning where the one before it ends.
    path : tuple of Span
        The critical path.
    lanes : tuple of LaneUse
        What every lane and link did from the first piece to the last, on the path or not.
    timeline : Timeline
        What it was told by.
    """

    pieces: tuple[BreakdownPiece, ...]
    path: tuple[Span, ...]
    lanes: tuple[LaneUse, ...]
    timeline: Timeline

    @property
    def total_ns(self) -> int:
        """From the call to the answer; exactly the sum of all parts."""
        return self.pieces[-1].end_ns - self.pieces[0].start_ns if self.pieces else 0

    @cached_property
    def parts(self) -> Mapping[Part, int]:
        """Time by category and resource, in the order of the categories."""
        total: Counter[Part] = Counter()
        for piece in self.pieces:
            total[_part(piece)] += piece.duration_ns
        order = {category: place for place, category in enumerate(Category)}
        return dict(sorted(total.items(), key=lambda row: (order[row[0][0]], row[0][1])))

    def share(self, part: Part) -> float:
        """A part's fraction of the total, 0 to 1."""
        return self.parts.get(part, 0) / max(1, self.total_ns)

    def steps(self) -> list[tuple[Span, Mapping[Category, int]]]:
        """Each span of the path with what its time went to, from when the one before it ended."""
        total: dict[int, Counter[Category]] = {id(span): Counter() for span in self.path}
        for piece in self.pieces:
            if piece.span is not None:
                total[id(piece.span)][piece.category] += piece.duration_ns
        return [(span, total[id(span)]) for span in self.path]


def breakdown(
    timeline: Timeline,
    *,
    lanes: Mapping[str, int] | None = None,
    causes: Causes | None = None,
    call: CallTimes | None = None,
    query: int = 0,
) -> Breakdown:
    """Say where the time of one query went.

    Parameters
    ----------
    timeline : Timeline
        Predicted or measured; spans of other queries are who may have been in the way.
    lanes : mapping of str to int, optional
        Lanes by device; at least, and by default, as many as the timeline shows.
    causes : Causes, optional
        What each span waited for; guessed from the times where it is not said.
    call : CallTimes, optional
        The caller's side; by default the query is what lies between 0 and its last span's end.
    query : int
        Which one.

    Returns
    -------
    Breakdown
        Its parts are integers that add up to ``call.left_ns - call.entered_ns``.
    """
    spans = [span for span in timeline if span.query == query]
    call = call or CallTimes.around(spans)
    known = _lanes(timeline, lanes or {})
    path = critical_path(spans, causes or {})
    knife = _Knife(call.entered_ns, call.returned_ns)
    knife.cut(Category.PYTHON_IN, call.handed_ns)
    _cut_path(knife, path, spans, _occupancies(timeline, known))
    knife.cut(Category.COMPLETION, call.returned_ns)
    knife.limit_ns = call.left_ns
    knife.cut(Category.PYTHON_OUT, call.left_ns)
    used = utilisation(timeline, known, call.entered_ns, call.left_ns)
    return Breakdown(tuple(knife.pieces), tuple(path), used, timeline)


def median_of(breakdowns: Sequence[Breakdown]) -> Breakdown:
    """The one with the median total, the lower of two.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not breakdowns:
        raise ValueError("the median of no runs: at least one is needed")
    return sorted(breakdowns, key=lambda b: b.total_ns)[(len(breakdowns) - 1) // 2]


class _Knife:
    """Cuts time from left to right; what lies before the last cut or past the limit is nothing.

    So the pieces add up whatever the spans say.
    """

    def __init__(self, start_ns: int, limit_ns: int) -> None:
        self.at_ns = start_ns
        self.limit_ns = limit_ns
        self.pieces: list[BreakdownPiece] = []

    def cut(self, category: Category, until_ns: int, span: Span | None = None) -> None:
        until_ns = min(until_ns, self.limit_ns)
        if until_ns <= self.at_ns:
            return
        start_ns = self.at_ns
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.category is category and last.span is span:
            start_ns = self.pieces.pop().start_ns
        self.pieces.append(BreakdownPiece(category, start_ns, until_ns, span))
        self.at_ns = until_ns


def _cut_path(
    knife: _Knife, path: Sequence[Span], spans: Iterable[Span], where: Mapping[str, LaneOccupancy]
) -> None:
    first_ns = min((span.start_ns for span in spans), default=0)
    for place, span in enumerate(path):
        # What nobody in this query had to wait for waits for the submission alone.
        knife.cut(Category.DISPATCH if place else Category.SUBMISSION, span.ready_ns, span)
        for category, until_ns in where[span.resource].waits(span, knife.at_ns, span.start_ns):
            if place == 0 and category is Category.DISPATCH:
                knife.cut(Category.SUBMISSION, min(until_ns, first_ns), span)
            knife.cut(category, until_ns, span)
        copies = span.kind is SpanKind.COPY
        knife.cut(Category.COPY if copies else Category.SERVICE, span.end_ns, span)


def _occupancies(timeline: Timeline, lanes: Mapping[str, int]) -> dict[str, LaneOccupancy]:
    rows: dict[str, list[Span]] = defaultdict(list)
    for span in timeline:
        rows[span.resource].append(span)
    return {name: LaneOccupancy(spans, lanes.get(name, 1)) for name, spans in rows.items()}


def _lanes(timeline: Timeline, given: Mapping[str, int]) -> dict[str, int]:
    """Lanes by device: as many as are said, and at least those that were seen."""
    found = dict(given)
    for span in timeline:
        if span.kind is not SpanKind.COPY:
            seen = max(span.lanes, default=0) + 1
            found[span.resource] = max(found.get(span.resource, 1), seen)
    return found


def _part(piece: BreakdownPiece) -> Part:
    # Submission is of the whole query, though its time passes before its first span.
    return piece.category, "" if piece.category is Category.SUBMISSION else piece.resource
