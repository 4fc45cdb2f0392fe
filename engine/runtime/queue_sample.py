"""How long queries wait for their first lane, from tracing some of them.

The core tells when nodes start of traced runs only. Of a plan whose queries are long each one is
traced; of a short one so few that looking costs next to nothing, and each that is answered counts
with the wait of the last one that was looked at.
"""

from __future__ import annotations

from surplus.engine import _core
from surplus.engine.segmentation.plan import Plan

_LOOK_NS = 20_000
"""Tracing a run and reading its spans, in Python (measured)."""

_LOOK_PER_NODE_NS = 200

_SHARE = 0.005
"""Of the time of all queries, at most so much goes to looking."""

_MOST_BETWEEN = 64


class QueueSample:
    """Waits of a model's queries between submission and the start of their first node.

    For one thread, as an event loop is.

    Parameters
    ----------
    every : int
        One query of so many is looked at, the first one included; >= 1.
    """

    def __init__(self, every: int) -> None:
        if every < 1:
            raise ValueError(f"every is {every}, must be at least 1")
        self.every = every
        self.queued_ns = 0
        """Of all queries answered so far."""
        self._begun = 0
        self._last_ns = 0

    def is_due(self) -> bool:
        """Begin a query; whether this one is to be traced and looked at."""
        self._begun += 1
        return (self._begun - 1) % self.every == 0

    def look(self, run: _core.Run, *_: object) -> None:
        """Take the wait of a traced run that is done."""
        rows = run.spans()
        started = rows[rows[:, 1] >= 0, 3]  # skipped nodes have lane -1
        self._last_ns = int(started.min()) if len(started) else 0

    def answered(self) -> None:
        """Count a query that ended well."""
        self.queued_ns += self._last_ns


def rate_for(plan: Plan) -> int:
    """``every`` such that looking takes half a percent of the queries' time at most."""
    look_ns = _LOOK_NS + _LOOK_PER_NODE_NS * (len(plan.segments) + len(plan.copies))
    allowed_ns = max(1, round(_SHARE * plan.predicted.makespan_ns))
    return min(_MOST_BETWEEN, -(-look_ns // allowed_ns))
