"""Timelines: who ran what, where and when, predicted or measured.

One type for the simulator, the solvers, the runtime, the Gantt chart, the trace and the
validator. Times are integer nanoseconds from the start of the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

NO_INDEX = -1


class SpanKind(StrEnum):
    """What a span shows."""

    TASK = "task"
    SEGMENT = "segment"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Span:
    """One execution.

    Parameters
    ----------
    kind : SpanKind
        Task, segment or copy.
    index : int
        Index of the task or segment; of the tensor for a copy, in the problem that was
        simulated, measured copies too. ``NO_INDEX`` if that has no such copy.
    name, category : str
        Label (the tensor's for a copy), and operator type (or ``copy``) for colours and totals.
    resource : str
        Device name, or the link's name for a copy.
    lanes : tuple of int
        Lanes of the resource that it held, one for width 1.
    ready_ns, start_ns, end_ns : int
        When its inputs were there, when it began, when it was done;
        ``ready_ns <= start_ns <= end_ns``. Queueing time is ``start_ns - ready_ns``.
    query : int
        Which query it belongs to.
    queries : int
        How many queries it answered by one call, that one included.
    """

    kind: SpanKind
    index: int
    name: str
    category: str
    resource: str
    lanes: tuple[int, ...]
    ready_ns: int
    start_ns: int
    end_ns: int
    query: int = 0
    queries: int = 1

    def later(self, delay_ns: int, query: int | None = None) -> Span:
        """The same execution so much later, of another query if one is given."""
        return replace(
            self,
            ready_ns=self.ready_ns + delay_ns,
            start_ns=self.start_ns + delay_ns,
            end_ns=self.end_ns + delay_ns,
            query=self.query if query is None else query,
        )

    @property
    def duration_ns(self) -> int:
        """Service time."""
        return self.end_ns - self.start_ns

    @property
    def queueing_ns(self) -> int:
        """From ready to started."""
        return self.start_ns - self.ready_ns


@dataclass(frozen=True, slots=True)
class Timeline:
    """Spans of one or more queries; ``origin`` says predicted or measured, and by whom."""

    spans: tuple[Span, ...]
    origin: str

    @staticmethod
    def of(spans: Iterable[Span], origin: str) -> Timeline:
        """Sort spans by start, resource, lane and name, so that equal runs compare equal."""
        key = lambda s: (s.start_ns, s.resource, s.lanes, s.end_ns, s.name)  # noqa: E731
        return Timeline(tuple(sorted(spans, key=key)), origin)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    @property
    def makespan_ns(self) -> int:
        """End of the last span (all times count from the start of the query)."""
        return max((span.end_ns for span in self.spans), default=0)

    def busy_ns(self, resource: str) -> int:
        """Lane-nanoseconds of work on a resource."""
        return sum(s.duration_ns * len(s.lanes) for s in self.spans if s.resource == resource)
