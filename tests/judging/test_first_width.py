"""A trial of a model's first queries: which wake the pool, and what stays."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.judging import first_width
from surplus.engine.judging.first_width import FirstWidth, has_idle_core_here
from surplus.engine.judging.width_choice import WidthParams

EACH = WidthParams().warm_up + WidthParams().runs


class World:
    """A clock that queries move on, by what they take narrow and wide."""

    def __init__(self, narrow_ns: int, wide_ns: int) -> None:
        self.now_ns = 0
        self.takes_ns = {False: narrow_ns, True: wide_ns}
        self.is_awake = False
        self.woken_after: list[int] = []
        self.reopened = 0

    def clock(self) -> int:
        return self.now_ns

    def wake_workers(self) -> None:
        self.is_awake = True

    def wake_workers_after(self, ns: int) -> None:
        self.woken_after.append(ns)

    def reopen(self) -> World:
        self.reopened += 1
        self.is_awake = False
        return self


class Subject1:
    """What a trial asks of a model."""

    def __init__(self) -> None:
        self.ended = 0
        self.took_over = threading.Event()

    def end_trial(self, trial: Any) -> None:
        self.ended += 1

    def prepare(self, plan: Any) -> str:
        return "prepared"

    def take_over(self, prepared: Any, instead_of: Any) -> bool:
        self.took_over.set()
        return True


class Plan:
    plan = "a plan"
    native = "native"


Ways = tuple[World, Subject1, FirstWidth]


def trial(narrow_ns: int, wide_ns: int, idle: bool = True) -> Ways:
    world, model, plan = World(narrow_ns, wide_ns), Subject1(), Plan()
    made: Any = FirstWidth
    found: FirstWidth = made(
        model, plan, None, world, world.reopen, clock=world.clock, has_idle_core=lambda: idle
    )
    return world, model, found


def ask(ways: Ways, times: int = 1) -> None:
    world, _, found = ways
    for _ in range(times):
        query = found.begin()
        world.now_ns += world.takes_ns[world.is_awake]
        found.answered(query)


@pytest.fixture(autouse=True)
def _no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_width, "_LONG_S", 3600.0)


def test_short_queries_stay_narrow_and_longer_ones_widen_them() -> None:
    world, model, _ = ways = trial(20_000, 10_000)
    ask(ways, EACH)
    assert (world.is_awake, model.ended, world.reopened) == (False, 1, 0)
    assert world.woken_after == [200_000]


def test_where_the_pool_is_better_it_stays_awake() -> None:
    world, model, _ = ways = trial(800_000, 500_000)
    ask(ways, EACH)
    assert world.is_awake
    assert not model.ended
    ask(ways, EACH)
    assert (model.ended, world.reopened, world.is_awake) == (1, 0, True)


def test_where_it_is_worse_the_session_is_opened_anew() -> None:
    world, model, _ = ways = trial(500_000, 800_000)
    ask(ways, 2 * EACH)
    assert model.took_over.wait(60)
    assert (world.reopened, world.is_awake, world.woken_after) == (1, False, [4_000_000])


def test_a_long_first_query_wakes_the_pool_where_a_core_is_idle() -> None:
    world, model, found = ways = trial(10**9, 6 * 10**8)
    query = found.begin()
    found._look(query)
    assert world.is_awake
    found.answered(query)
    assert model.ended == 1
    ask(ways)
    assert model.ended == 1


def test_on_a_busy_machine_it_is_compared() -> None:
    world, model, found = ways = trial(10**9, 12 * 10**8, idle=False)
    query = found.begin()
    found._look(query)
    assert not world.is_awake
    found.answered(query)
    ask(ways, 2 * EACH - 1)
    assert model.took_over.wait(60)


def test_queries_that_overlap_end_it() -> None:
    world, model, found = trial(500_000, 300_000)
    for _ in range(first_width._MOST_SEEN // 2):
        both = found.begin(), found.begin()
        for query in both:
            found.answered(query)
    assert (world.is_awake, model.ended) == (True, 1)


def test_failures_count_for_nothing() -> None:
    world, _, found = ways = trial(500_000, 300_000)
    for _ in range(EACH):
        with pytest.raises(ValueError, match="no"), found.query():
            raise ValueError("no")
    assert not world.is_awake
    ask(ways, EACH)
    assert world.is_awake


@pytest.mark.parametrize(("running", "idle"), [(1, True), (2, True), (3, False), (9, False)])
def test_an_idle_core_is_one_that_nobody_runs_on(tmp_path: Path, running: int, idle: bool) -> None:
    stat = tmp_path / "stat"
    stat.write_text(f"cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\nprocs_running {running}\n")
    assert has_idle_core_here(stat) is idle
    assert has_idle_core_here(tmp_path / "none")
