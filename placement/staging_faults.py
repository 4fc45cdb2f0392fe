"""Whether copies find room in the pinned pools of their links."""

from __future__ import annotations

from collections.abc import Iterator

from surplus.placement.problem import Problem
from surplus.placement.timeline import SpanKind, Timeline


def staging_faults(problem: Problem, timeline: Timeline) -> Iterator[str]:
    """In words: pools that hold more than they can.

    A copy holds its bytes, or all of the pool if that is smaller, from its start to its end; who
    ends at the instant at which another starts has let go.
    """
    for link in problem.links:
        pool = link.staging_bytes
        if pool is None:
            continue
        changes = []
        for span in timeline:
            if span.kind is SpanKind.COPY and span.resource == link.name:
                if not 0 <= span.index < len(problem.tensors) or span.duration_ns == 0:
                    continue
                held = min(pool, problem.tensors[span.index].size_bytes)
                changes += [(span.start_ns, held, span.name), (span.end_ns, -held, span.name)]
        used = 0
        for moment_ns, held, name in sorted(changes):
            used += held
            if used > pool:
                yield f"copy {name!r} at {moment_ns}: {used} of {pool} bytes of {link.name}'s pool"
                break
