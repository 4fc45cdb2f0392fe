"""Queries that have ended, remembered so that one can be looked at; the last ones only."""

from __future__ import annotations

from typing import NamedTuple

from surplus.engine.serving.trouble import Trouble

MOST = 1024
"""That are remembered of those that Python answers; the native front end remembers as many."""


class SeenQuery(NamedTuple):
    """One of them, on ``time.monotonic_ns``'s clock.

    Parameters
    ----------
    id : str
        As its client called it; empty if it did not.
    trace_parent : str
        W3C's header, as it came; empty without one.
    plan, arrival : int
        Its run, as the machine's recorder names it; both 0 where that is not known.
    waited_ns : int
        For a lane; -1: not known.
    trouble : Trouble or None
        Why it was not answered, or not in time.
    """

    model: str
    version: str
    id: str
    trace_parent: str
    plan: int
    arrival: int
    received_ns: int
    started_ns: int
    ended_ns: int
    answered_ns: int
    waited_ns: int
    trouble: Trouble | None

    @property
    def trace_id(self) -> str:
        """Of its trace parent: 32 hexadecimal digits; empty without one."""
        parts = self.trace_parent.split("-")
        return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else ""

    @property
    def stages(self) -> list[tuple[str, int, int]]:
        """What the server did with it, in order, each from when to when."""
        moments = self.received_ns, self.started_ns, self.ended_ns, self.answered_ns
        names = "decode", "execute", "encode"
        return list(zip(names, moments, moments[1:], strict=False))

    @property
    def is_sampled(self) -> bool:
        """Whether its trace parent says that its trace is recorded."""
        flags = self.trace_parent[53:55]
        return len(flags) == 2 and flags[1] in "13579bdf"
