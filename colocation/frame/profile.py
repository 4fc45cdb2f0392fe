"""The extension point of profiles: how long a model takes, ``L(batch, share)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.registry import Registry


class LatencyProfile(Protocol):
    """Service time of one model, running alone in a partition."""

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Whole model, for a batch of ``items`` on a share of the device.

        Raises
        ------
        ValueError
            If the profile does not reach that far.
        """
        ...

    def spread(self, items: int, sequence: int) -> float:
        """Relative standard deviation of the service time; 0 where it is not known."""
        ...


@runtime_checkable
class LayeredProfile(LatencyProfile, Protocol):
    """A profile that knows each operator by itself, on some numbers of cores.

    Attributes
    ----------
    cores : sequence of int
        Numbers of cores that there are times for, ascending.
    operations : sequence of int
        Of each operator; what shares of a target are in proportion to.
    sensitivities : sequence of float
        By version of the operators, what pressure costs it: see ``veltair/versions.py``.
    """

    @property
    def cores(self) -> Sequence[int]:
        """As above."""
        ...

    @property
    def operations(self) -> Sequence[int]:
        """As above."""
        ...

    @property
    def sensitivities(self) -> Sequence[float]:
        """As above."""
        ...

    def operator_ns(self, items: int, sequence: int, version: int) -> Sequence[Sequence[int]]:
        """Times, (operators, cores)."""
        ...


_MOST_DEVIATION = 100.0


def checked_deviation(deviation: float, name: str = "deviation") -> float:
    """Return a relative standard deviation, if it is one.

    Raises
    ------
    ValueError
        If it is not 0 to 100.
    """
    if not 0 <= deviation <= _MOST_DEVIATION:
        raise ValueError(f"{name} must be 0 to {_MOST_DEVIATION:g}, got {deviation}")
    return deviation


PROFILES: Registry[LatencyProfile] = Registry("profile")


def part_ns(whole_ns: int, start: int, end: int, operators: int) -> int:
    """Time of operators ``start <= i < end`` of a model whose operators take equally long.

    Rounded such that the parts of a model always sum up to the whole.
    """
    return whole_ns * end // operators - whole_ns * start // operators
