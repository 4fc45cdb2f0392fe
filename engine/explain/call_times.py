"""When a query's caller did what, around the spans that the core records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from surplus.placement.timeline import Span


@dataclass(frozen=True)
class CallTimes:
    """Moments of one query, in ns on the clock of its timeline, in this order.

    Parameters
    ----------
    entered_ns : int
        The caller called.
    handed_ns : int
        The inputs were the core's values, and the core was called.
    returned_ns : int
        The core gave the finished query back.
    left_ns : int
        The outputs were arrays.

    Raises
    ------
    ValueError
        If they go backwards.
    """

    entered_ns: int
    handed_ns: int
    returned_ns: int
    left_ns: int

    def __post_init__(self) -> None:
        moments = astuple(self)
        if list(moments) != sorted(moments):
            raise ValueError(f"call times go backwards: {moments}")

    @staticmethod
    def around(spans: Iterable[Span]) -> CallTimes:
        """Where nobody looked at the caller's clock: from 0 to the end of the last span."""
        end_ns = max((span.end_ns for span in spans), default=0)
        return CallTimes(min(0, end_ns), min(0, end_ns), end_ns, end_ns)
