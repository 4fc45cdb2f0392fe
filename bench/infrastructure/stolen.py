"""What the host of a virtual machine took of its cores while something was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from surplus.engine.profiling.counters import Counters, read_counters

Found = TypeVar("Found")


class Unstolen(NamedTuple, Generic[Found]):
    """What was measured in the end.

    Parameters
    ----------
    found
        Of the attempt in which the host took least.
    share : float
        Of the cores' time that the host took meanwhile, in [0, 1]: ``steal`` of ``/proc/stat``.
    attempts : int
        How many there were, >= 1.
    """

    found: Found
    share: float
    attempts: int


def unstolen(
    measure: Callable[[], Found],
    most_share: float,
    most_attempts: int,
    read: Callable[[], Counters] = read_counters,
) -> Unstolen[Found]:
    """Measure again while the host takes more than that, at most so often; the least disturbed."""
    attempts: list[Unstolen[Found]] = []
    while len(attempts) < most_attempts:
        before = read()
        found = measure()
        attempts.append(Unstolen(found, stolen_share(before, read()), len(attempts) + 1))
        if attempts[-1].share <= most_share:
            break
    return min(attempts, key=lambda one: one.share)._replace(attempts=len(attempts))


def stolen_share(before: Counters, after: Counters) -> float:
    """Of the cores' time between two readings."""
    spent_ns = (after.time_ns - before.time_ns) * after.cpus
    return (after.stolen_ns - before.stolen_ns) / spent_ns if spent_ns else 0.0
