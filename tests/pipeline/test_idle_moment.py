"""Measuring begins when a program has been left alone, or has been busy for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from surplus.engine.pipeline.idle_moment import IdleParams, IdleWatch, Moment


class World:
    """A clock that each look moves on, and lanes that are at work at some of its times."""

    def __init__(self, busy: set[int]) -> None:
        self.now_s = 0.0
        self._busy = busy
        self._done = 0

    def clock(self) -> float:
        self.now_s += 0.25
        return self.now_s

    def work(self) -> tuple[int, bool]:
        if int(self.now_s) in self._busy:
            self._done += 1
        return self._done, False


class Never(threading.Event):
    """An end that does not come, for which nobody waits."""

    def wait(self, timeout: float | None = None) -> bool:
        return False


def begun(busy: set[int], loads: Iterator[float]) -> list[tuple[Moment | None, int]]:
    world = World(busy)
    watch = IdleWatch(IdleParams(), world.clock, world.work)
    return [(watch.wait(loaded, Never()), int(world.now_s)) for loaded in loads]


def test_a_program_that_asks_nothing_is_measured_after_its_first_seconds() -> None:
    assert begun(set(), iter([0.0])) == [(Moment.IDLE, 5)]


@pytest.mark.parametrize(("until", "at"), [(3, 5), (20, 20), (58, 58)])
def test_the_last_query_is_waited_for(until: int, at: int) -> None:
    assert begun(set(range(until)), iter([0.0])) == [(Moment.IDLE, at)]


def test_a_busy_program_is_measured_all_the_same() -> None:
    assert begun(set(range(1000)), iter([0.0])) == [(Moment.BUSY, 60)]


def test_later_models_wait_for_queries_alone() -> None:
    assert begun(set(), iter([0.0, 5.0])) == [(Moment.IDLE, 5), (Moment.IDLE, 5)]


def test_runs_in_flight_are_work() -> None:
    world = World(set())
    watch = IdleWatch(IdleParams(), world.clock, lambda: (0, world.now_s < 9))
    assert watch.wait(0.0, Never()) is Moment.IDLE
    assert int(world.now_s) == 9


def test_it_ends_when_it_is_to() -> None:
    ending = threading.Event()
    ending.set()
    assert IdleWatch(IdleParams()).wait(time.monotonic(), ending) is None
