"""The simulator's executor under a clock that is not its own."""

from __future__ import annotations

from surplus.colocation.frame.service import Partition
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.simulation.virtual_executor import VirtualExecutor
from surplus.colocation.truths.truth import ProfileTruth
from tests.colocation.settings import MS, load_of, service


def test_what_comes_later_than_asked_for_is_not_lost() -> None:
    truth = ProfileTruth((), (), NOISES.make("none"), 0)
    nothing = load_of([service("a", slo_ms=10)], [[]])
    executor = VirtualExecutor(nothing, [Partition(0)], truth)
    for when_ns in (3 * MS, 1 * MS):
        executor.wake(when_ns)
    assert executor.next_ns == 1 * MS
    first = executor.until(2 * MS)
    assert first is not None
    assert first.time_ns == 1 * MS
    assert executor.until(2 * MS) is None
    assert executor.next_ns == 3 * MS
    last = executor.until(3 * MS)
    assert last is not None
    assert last.time_ns == 3 * MS
    assert executor.next_ns is None
