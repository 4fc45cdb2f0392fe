"""What made each span ready: the segments and copies that it had to wait for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from surplus.engine.segmentation.plan import Copy, Plan, Segment
from surplus.placement.timeline import Span, SpanKind

SpanKey = int | tuple[str, str]
"""Index of a segment or task; tensor and link of a copy."""

Causes = Mapping[SpanKey, Collection[SpanKey]]


def key_of(span: Span) -> SpanKey:
    """How a span is called in ``Causes``, measured or predicted."""
    return (span.name, span.resource) if span.kind is SpanKind.COPY else span.index


def causes_of(plan: Plan) -> Causes:
    """The edges between a plan's segments and copies, holds included, backwards."""
    made_by = {name: i for i, s in enumerate(plan.segments) for name in s.outputs}
    arrives = {(c.tensor, plan.memories[c.target]): _key(plan, c) for c in plan.copies}

    def read_by(segment: Segment) -> set[SpanKey]:
        memory, waited = plan.memories[segment.device], (*segment.inputs, *segment.awaits)
        sources = (arrives.get((name, memory), made_by.get(name)) for name in waited)
        return {source for source in sources if source is not None}

    found: dict[SpanKey, Collection[SpanKey]] = {
        index: read_by(segment) for index, segment in enumerate(plan.segments)
    }
    for copy in plan.copies:
        waited = (copy.tensor, *copy.awaits)
        found[_key(plan, copy)] = [made_by[name] for name in waited if name in made_by]
    return found


def _key(plan: Plan, copy: Copy) -> tuple[str, str]:
    return copy.tensor, plan.link_of(copy)
