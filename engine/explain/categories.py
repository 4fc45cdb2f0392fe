"""What a query's time can go to."""

from __future__ import annotations

from enum import StrEnum


class Category(StrEnum):
    """Every nanosecond between a query's call and its answer is of exactly one of these.

    The order is that of a table for people.
    """

    SERVICE = "service"
    """A segment of the critical path runs on a device."""
    SLOWER = "slower"
    """It runs for longer than it usually does: something beside it takes the cores, the memory or
    the clock rate. Told of recorded queries only (late_query.py), as the next one."""
    PREEMPTED = "preempted"
    """It was begun, and its place is lent to a more urgent query."""
    COPY = "copy"
    """A tensor of the critical path is on a link, its latency included."""
    QUEUEING = "queueing"
    """Ready, but segments of this query hold every lane, or a copy of it the link."""
    QUEUEING_OTHERS = "queueing_others"
    """Ready, but no lane is free, and another query holds one of them, or the link."""
    ELSEWHERE = "elsewhere"
    """Ready, but another process goes first on the cores. Told of recorded queries only."""
    SEATS = "seats"
    """A wide segment is ready and some lanes are free, but fewer than it needs."""
    GATE = "gate"
    """Ready, and enough lanes are free, but they are kept for a wide segment that goes first."""
    DISPATCH = "dispatch"
    """Enough lanes are free, yet it has not started; and from the end of what it waited for
    until it was told so. What handing over costs."""
    SUBMISSION = "submission"
    """From handing the query to the core until its first segment or copy starts."""
    COMPLETION = "completion"
    """From the end of the last segment or copy until the core has given the query back."""
    PYTHON_IN = "python_in"
    """Checking the inputs and making them the core's values, in a traced run."""
    PYTHON_OUT = "python_out"
    """Making the outputs arrays, in a traced run."""
