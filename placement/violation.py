"""What a timeline can be found guilty of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a timeline can break."""

    MISSING = "missing"
    """A task or a needed copy does not occur."""
    REPEATED = "repeated"
    """A task or a copy occurs twice in one query."""
    UNKNOWN = "unknown"
    """A span of no task of the problem, or a copy that nobody needs."""
    DEVICE = "device"
    """A task runs elsewhere than it was placed."""
    ORDER = "order"
    """Not 0 <= ready <= start <= end."""
    DURATION = "duration"
    """Not the service time or the copy time of the problem."""
    LANES = "lanes"
    """Wrong number of lanes, or lanes that the device does not have."""
    OVERLAP = "overlap"
    """Two tasks at once on a lane."""
    LINK = "link"
    """Two copies hold a link at once."""
    PRECEDENCE = "precedence"
    """A start before the inputs are there."""
    HOLD = "hold"
    """A start before all is there that the elder of a hold waits for."""
    THREAD = "thread"
    """A start before one thread can have submitted all that is before it."""
    STAGING = "staging"
    """Copies hold more of a link's pinned pool than it has."""
    MEMORY = "memory"
    """More in a memory at once than it holds."""


@dataclass(frozen=True)
class Violation:
    """A broken rule and where it was broken."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def refuse(found: Sequence[Violation], what: str) -> None:
    """Raise ValueError, naming what was judged and the first violations, if there are any."""
    if found:
        shown = "; ".join(map(str, found[:3]))
        raise ValueError(f"{what}: {len(found)} violations: {shown}")
