"""What is measured again while the host takes the cores away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.infrastructure.stolen import stolen_share, unstolen
from surplus.engine.profiling.counters import Counters


def counters(time_ns: int, stolen_ns: int, cpus: int = 2) -> Counters:
    return Counters(time_ns, 0, cpus, 0, stolen_ns, {})


def readings(*stolen_ns: int) -> Iterator[Counters]:
    """Before and after attempts of 100 ns on two cores, in each of which so much is taken."""
    for number, each_ns in enumerate(stolen_ns):
        yield counters(1000 * number, 0)
        yield counters(1000 * number + 100, each_ns)


@pytest.mark.parametrize(
    ("stolen_ns", "found", "share", "attempts"),
    [
        ((6,), 0, 0.03, 1),
        ((8, 7, 6, 0), 2, 0.03, 3),
        ((80, 20, 40), 1, 0.1, 3),  # never undisturbed: the least
    ],
)
def test_it_is_measured_until_little_is_taken(
    stolen_ns: tuple[int, ...], found: int, share: float, attempts: int
) -> None:
    reads, values = readings(*stolen_ns), iter(range(9))
    measured = unstolen(lambda: next(values), 0.03, 3, lambda: next(reads))
    assert measured == (found, pytest.approx(share), attempts)


def test_the_share_is_of_all_cores() -> None:
    assert stolen_share(counters(0, 50), counters(100, 100, 2)) == 0.25
    assert stolen_share(counters(5, 0), counters(5, 0)) == 0.0
