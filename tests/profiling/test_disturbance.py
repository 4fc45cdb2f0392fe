"""What others take of the cores, from made-up readings of the kernel's counters."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from surplus.engine.profiling.counters import Counters, cpu_times_ns, read_counters, thread_waits
from surplus.engine.profiling.disturbance import Disturbance, Watch, disturbance

S = 1_000_000_000
NOTHING = Counters(0, 0, 2, 0, 0, {})


def test_what_others_took_is_what_the_cpus_worked_beside_us() -> None:
    after = Counters(S, S, 2, 2 * S - S // 2, S // 10, {"1": (S, S // 4)})
    found = disturbance(NOTHING, after, cores=2)
    assert found == Disturbance(taken=0.25, stolen=0.05, waited=0.2)
    assert found.share == pytest.approx(0.3)
    assert not found.is_quiet
    assert found.text == "30 % of the cores taken, 20 % waiting"


def test_alone_nothing_is_taken_however_much_one_works() -> None:
    found = disturbance(NOTHING, Counters(S, 2 * S, 2, 2 * S, 0, {}), cores=2)
    assert found == Disturbance()
    assert found.is_quiet


def test_ticks_are_coarse_so_that_nothing_may_seem_less_than_that() -> None:
    assert disturbance(NOTHING, Counters(S, 2 * S, 2, S, 0, {}), 2) == Disturbance()
    assert disturbance(NOTHING, NOTHING, 2) == Disturbance()


def test_a_container_of_two_cores_of_eight_is_disturbed_by_what_does_not_fit_beside_it() -> None:
    before = replace(NOTHING, cpus=8)
    assert disturbance(before, Counters(S, 0, 8, 6 * S, 0, {}), cores=2).taken == 0
    assert disturbance(before, Counters(S, 0, 8, 7 * S, 0, {}), cores=2).taken == 0.5


def test_threads_that_began_since_count_from_their_beginning() -> None:
    before = replace(NOTHING, waits={"1": (10, 10), "gone": (5, 5)})
    after = replace(NOTHING, time_ns=S, waits={"1": (20, 10), "new": (10, 20)})
    assert disturbance(before, after, 2).waited == 0.5


def test_busy_and_stolen_time_of_our_cpus_alone() -> None:
    tick_ns = S // os.sysconf("SC_CLK_TCK")
    stat = [
        "cpu  9 9 9 9 9 9 9 9 0 0",
        "cpu0 1 2 3 900 900 4 5 6 0 0",
        "cpu1 7 7 7 7 7 7 7 7 0 0",
        "intr 3 4",
        "",
    ][:4]
    assert cpu_times_ns(stat, {0}) == (15 * tick_ns, 6 * tick_ns)
    assert cpu_times_ns([], {0}) == (0, 0)


def test_threads_waits_by_what_the_kernel_shows(tmp_path: Path) -> None:
    for thread, text in (("11", "300 40 5\n"), ("12", "1 2 3\n"), ("13", "")):
        (tmp_path / thread).mkdir()
        (tmp_path / thread / "schedstat").write_text(text)
    assert thread_waits(tmp_path) == {"11": (300, 40), "12": (1, 2)}


def test_a_kernel_that_tells_nothing_shows_no_disturbance(tmp_path: Path) -> None:
    reading = read_counters(tmp_path / "stat", tmp_path)
    assert (reading.busy_ns, reading.stolen_ns, reading.waits) == (0, 0, {})
    assert disturbance(reading, replace(reading, time_ns=reading.time_ns + S), 2).is_quiet


def _reader(readings: Sequence[Counters]) -> Callable[[], Counters]:
    rows = iter(readings)
    return lambda: next(rows)


def test_a_watch_looks_back_to_a_moment_but_no_less_than_a_window() -> None:
    """One core of two is taken from 1 s to 2 s."""
    at_ms = (0, 1_000, 1_950, 2_000, 2_010, 3_000)
    taken_ms = (0, 0, 950, 1_000, 1_000, 1_000)
    readings = [
        replace(NOTHING, time_ns=t * 1_000_000, busy_ns=b * 1_000_000)
        for t, b in zip(at_ms, taken_ms, strict=True)
    ]
    watch = Watch(_reader(readings), cores=2)
    assert watch.lately(0).taken == 0
    assert watch.lately(1_000_000_000).taken == 0.5
    assert watch.lately(1_000_000_000).taken == 0.5
    assert 0.4 < watch.lately(2_000_000_000).taken < 0.5  # 10 ms would say nothing
    assert watch.lately(2_010_000_000).taken == 0
    assert watch.overall().taken == pytest.approx(1 / 6)
