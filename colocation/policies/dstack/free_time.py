"""How long a share of a device stays free, given what runs and what is planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FOREVER_NS = 1 << 62


class Held(NamedTuple):
    """A share that is held for a time; what runs began before now."""

    start_ns: int
    end_ns: int
    share_percent: int


def free_until_ns(share_percent: int, now_ns: int, held: Sequence[Held]) -> int:
    """First time at which the share would take a device above 100 %.

    ``now_ns`` if it would at once, ``FOREVER_NS`` if it never would. A planned turn that starts
    at that very time counts: it is there first.
    """
    room_percent = 100 - share_percent
    peaks_ns = sorted({now_ns, *(h.start_ns for h in held if h.start_ns > now_ns)})
    for peak_ns in peaks_ns:
        used = sum(h.share_percent for h in held if h.start_ns <= peak_ns < h.end_ns)
        if used > room_percent:
            return peak_ns
    return FOREVER_NS
