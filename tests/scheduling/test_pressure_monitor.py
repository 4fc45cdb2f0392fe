"""Copies that take longer, and the thread that looks while somebody asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from surplus.colocation.frame.clock import WallClock
from surplus.colocation.live.executor import LiveExecutor
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.copy_probe import CopyProbe
from surplus.engine.scheduling.loop_executor import LoopExecutor
from surplus.engine.scheduling.pressure_monitor import PressureMonitor, machine_sources


def test_a_copy_is_compared_with_the_fastest_so_far() -> None:
    took_ns: Iterator[int] = iter([100, 100, 150, 80, 160])
    now_ns, between = 0, False

    def clock_ns() -> int:
        nonlocal now_ns, between
        if between:
            now_ns += next(took_ns)
        between = not between
        return now_ns

    probe = CopyProbe(clock_ns)
    readings = [probe.read()[0] for _ in range(5)]
    assert readings == pytest.approx([0, 0, 0.5, 0, 1], abs=0.01)


def test_a_real_copy_takes_time() -> None:
    probe = CopyProbe()
    readings = [probe.read()[0] for _ in range(40)]  # once round, and further
    assert all(reading >= 0 for reading in readings)
    assert min(readings) == 0


class Fixed:
    names = ("made up", "not looked at")

    def __init__(self, *values: float) -> None:
        self._values = iter(values)
        self.was_read = threading.Event()

    def read(self) -> tuple[float, ...]:
        self.was_read.set()
        return (next(self._values, 0.0), 99.0)


def test_readings_are_added_and_smoothed() -> None:
    monitor = PressureMonitor()
    sources = [Fixed(1.0, 1.0, 0.0), Fixed(0.5, 0.5, 0.0)]
    told = []
    for _ in range(3):
        monitor.step(sources)
        told.append(monitor._pressure)
    assert told == pytest.approx([1.5, 1.5, 1.05])


def test_a_thread_looks_once_somebody_asks() -> None:
    source = Fixed(*[2.0] * 1000)
    monitor = PressureMonitor(lambda: (source,))
    assert not source.was_read.is_set()
    monitor.pressure()
    assert source.was_read.wait(30)
    while monitor.pressure() is None:  # it has read, and is about to say so
        pass
    assert monitor.pressure() == pytest.approx(2.0)


def test_a_machine_that_tells_nothing_has_no_pressure() -> None:
    ended = threading.Event()

    def refuse() -> tuple[()]:
        ended.set()
        raise OSError("nothing here")

    monitor = PressureMonitor(refuse)
    assert monitor.pressure() is None
    assert ended.wait(30)
    assert monitor.pressure() is None


def test_this_machine_has_a_source() -> None:
    sources = machine_sources()
    assert sources
    for source in sources:
        assert len(source.read()) == len(source.names)


def test_servers_and_replays_ask_the_backend() -> None:
    class Told(PressureMonitor):
        def pressure(self) -> float | None:
            return 0.75

    backend = EngineBackend([], [], lambda query: {}, monitor=Told())
    assert LiveExecutor(backend, WallClock(), [], []).pressure() == 0.75
    loop = asyncio.new_event_loop()
    executor = LoopExecutor(backend, lambda event: None, loop)
    assert executor.pressure() == 0.75
    executor.close()
    loop.close()
