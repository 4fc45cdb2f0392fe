"""The chain of spans that a query's end waited for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from surplus.engine.explain.causes import Causes, key_of
from surplus.placement.timeline import Span


def critical_path(spans: Sequence[Span], causes: Causes) -> list[Span]:
    """Walk back from the span that ended last to the one that was ready first.

    Parameters
    ----------
    spans : sequence of Span
        Of one query.
    causes : Causes
        What each span waited for. Where a span is not in it, or nothing that it waited for
        was seen, the last span that ended before it was ready stands in.

    Returns
    -------
    list of Span
        In the order of time: each ends no later than the next one is ready.
    """
    return _Walk(spans, causes).path()


def _by_end(span: Span) -> tuple[int, int, str, str]:
    return (span.end_ns, span.start_ns, span.resource, span.name)


class _Walk:
    def __init__(self, spans: Sequence[Span], causes: Causes) -> None:
        self._ended = sorted(spans, key=_by_end)
        self._ends = [span.end_ns for span in self._ended]
        self._by_key = {key_of(span): span for span in spans}
        self._causes = causes
        self._visited: set[int] = set()  # spans without duration could lead in circles

    def path(self) -> list[Span]:
        found: list[Span] = []
        at = self._ended[-1] if self._ended else None
        while at is not None:
            self._visited.add(id(at))
            found.append(at)
            at = self._before(at)
        return found[::-1]

    def _before(self, span: Span) -> Span | None:
        keys = self._causes.get(key_of(span))
        if keys is not None and not keys:
            return None
        seen = [self._by_key[key] for key in keys or () if key in self._by_key]
        known = [s for s in seen if s.end_ns <= span.ready_ns and id(s) not in self._visited]
        return max(known, key=_by_end) if known else self._last_before(span)

    def _last_before(self, span: Span) -> Span | None:
        for at in range(bisect_right(self._ends, span.ready_ns) - 1, -1, -1):
            if id(self._ended[at]) not in self._visited:
                return self._ended[at]
        return None
