"""A stretch of a plan: some tasks that may go elsewhere, and what all that stays put leaves them.

What is before the stretch stays when it is, what is after it keeps its distance from the end of the
query. So a stretch that is done earlier is a plan that is as much shorter. Times are nanoseconds;
``rest_ns`` is what is left of the query at the latest moment.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from surplus.placement.problem import Link
from surplus.placement.records import read_record


@dataclass(frozen=True)
class StretchMode:
    """A device and a width that a task may take, and its time there."""

    device: int
    width: int
    length_ns: int


@dataclass(frozen=True)
class FreeTask:
    """A task of the stretch, by its index in the problem."""

    index: int
    modes: tuple[StretchMode, ...]


@dataclass(frozen=True)
class LaneRoom:
    """A lane: free from an instant until so long before the end of the query."""

    device: int
    free_ns: int
    rest_ns: int


@dataclass(frozen=True)
class Instant:
    """In a memory: from when a tensor is there, or how long before the end it is wanted there."""

    memory: str
    at_ns: int


@dataclass(frozen=True)
class Parcel:
    """A tensor that tasks of the stretch make or read, or that is brought somewhere meanwhile.

    Parameters
    ----------
    tensor : int
        Its index in the problem.
    size_bytes : int
        What a copy moves; 0 orders alone.
    maker : int
        Index of the free task that makes it; -1 if it is there without the stretch.
    there : tuple of Instant
        Where it is without the stretch and from when on; of those the first is its home.
    readers : tuple of int
        Indices of the free tasks that read it.
    wanted : tuple of Instant
        Where what comes after the stretch needs it.
    """

    tensor: int
    size_bytes: int
    maker: int
    there: tuple[Instant, ...]
    readers: tuple[int, ...]
    wanted: tuple[Instant, ...]


@dataclass(frozen=True)
class HeldLink:
    """A copy that stays put and holds a link.

    Parameters
    ----------
    at_ns : int
        When it takes the link; so long before the end of the query if ``is_after``.
    hold_ns : int
        How long it holds it.
    """

    at_ns: int
    hold_ns: int
    is_after: bool


@dataclass(frozen=True)
class LinkRoom:
    """A link: free from an instant until so long before the end, but for what holds it."""

    link: Link
    free_ns: int
    held: tuple[HeldLink, ...]
    rest_ns: int


@dataclass(frozen=True)
class PlanStretch:
    """What a solver is asked about a stretch.

    Parameters
    ----------
    memories : tuple of str
        Of each device.
    floor_ns, upper_ns : int
        What the rest of the plan takes whatever becomes of the stretch, and how long the plan is.
    """

    memories: tuple[str, ...]
    tasks: tuple[FreeTask, ...]
    lanes: tuple[LaneRoom, ...]
    parcels: tuple[Parcel, ...]
    links: tuple[LinkRoom, ...]
    floor_ns: int
    upper_ns: int

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> PlanStretch:
        """Read a stretch."""
        return read_record(PlanStretch, json.loads(text), "stretch")
