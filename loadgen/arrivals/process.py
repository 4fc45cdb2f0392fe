"""The extension point of load shapes: when queries are meant to be sent.

A process gives ascending offsets in integer nanoseconds. The sum of the gaps is kept in floating
point and rounded once per query, so that rounding never changes the rate. A new shape is a file
beside this one with a class that registers itself; ``--arrivals NAME:KEY=VALUE,...`` then makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

Arrivals = Callable[[float, np.random.Generator], Iterator[int]]
"""Rate in queries per second, and the generator of this stream -> offsets."""

_LENGTHS_S = (1e-3, 1e9)


class ArrivalProcess(Protocol):
    """A shape of load, without its seed. Keyword arguments make it, a rate among them."""

    @property
    def rate_per_s(self) -> float:
        """Mean rate over a long time, > 0."""
        ...

    def scaled(self, factor: float) -> ArrivalProcess:
        """The same shape with its rate times ``factor``, > 0; lengths of phases stay."""
        ...

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Intended send times from 0 on, ascending; endless, but for a trace's."""
        ...

    def describe(self) -> dict[str, Any]:
        """Name, parameters, and what follows from them, as JSON has it."""
        ...


ARRIVALS: dict[str, Callable[..., ArrivalProcess]] = {}
"""By name: classes that are made with ``rate_per_s`` and parameters of their own."""

_Made = TypeVar("_Made", bound=Callable[..., ArrivalProcess])


def register(name: str) -> Callable[[_Made], _Made]:
    """Register a class of processes under a name."""

    def put(made: _Made) -> _Made:
        ARRIVALS[name] = made
        return made

    return put


def checked_rate(rate_per_s: float, name: str = "rate_per_s") -> float:
    """Return a rate that is one.

    Raises
    ------
    ValueError
        If it is not > 0 and finite.
    """
    if not 0 < rate_per_s < float("inf"):
        raise ValueError(f"{name} must be > 0 and finite, got {rate_per_s}")
    return rate_per_s


def checked_length_s(length_s: float, name: str) -> float:
    """Return the length of a phase, if it is one.

    Raises
    ------
    ValueError
        If it is not between a millisecond and 1e9 seconds.
    """
    least_s, most_s = _LENGTHS_S
    if not least_s <= length_s <= most_s:
        raise ValueError(f"{name} must be {least_s:g} to {most_s:g} seconds, got {length_s}")
    return length_s
