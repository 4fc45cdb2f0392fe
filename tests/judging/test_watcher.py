"""The thread that has models judged: steps each when it is due, and sleeps while none is."""

from __future__ import annotations

import gc
import logging
import threading

import pytest

from surplus.engine.judging.watcher import Watcher

SOON_S = 30.0
HOUR_NS = 3_600_000_000_000


class Subject:
    """Due again after some time, or only when it is woken."""

    def __init__(self, after_ns: int | None = None, fails: bool = False) -> None:
        self.after_ns = after_ns
        self.fails = fails
        self.stepped = threading.Semaphore(0)

    def judge(self) -> int | None:
        self.stepped.release()
        if self.fails:
            raise ValueError("as planned")
        return self.after_ns

    def was_stepped(self) -> bool:
        return self.stepped.acquire(timeout=SOON_S)

    @property
    def is_left_alone(self) -> bool:
        return not self.stepped.acquire(blocking=False)


def test_each_is_stepped_when_it_is_due_and_one_that_fails_is_no_harm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watcher = Watcher(first_ns=1)
    bad, good = Subject(fails=True), Subject(after_ns=1)
    with caplog.at_level(logging.ERROR):
        watcher.watch(bad)
        watcher.watch(good)
        assert all(bad.was_stepped() and good.was_stepped() for _ in range(3))
        watcher.close()
    assert "as planned" in caplog.text


def test_who_is_woken_is_stepped_and_nobody_else() -> None:
    watcher, subject, other = Watcher(first_ns=HOUR_NS), Subject(), Subject()
    watcher.watch(subject)
    watcher.watch(other)
    for _ in range(3):
        watcher.wake(subject)
        assert subject.was_stepped()
    assert other.is_left_alone
    watcher.wake()
    assert other.was_stepped()
    watcher.close()


def test_it_sleeps_for_good_while_nothing_is_due() -> None:
    """Each round of its thread asks for how long it may sleep."""
    rests: list[float | None] = []
    asleep = threading.Event()

    class Counted(Watcher):
        def _rest_s(self) -> float | None:
            rests.append(super()._rest_s())
            if rests[-1] is None:
                asleep.set()
            return rests[-1]

    watcher, subject = Counted(first_ns=1), Subject()
    watcher.watch(subject)
    assert subject.was_stepped()
    assert asleep.wait(SOON_S)
    watcher.close()
    assert subject.is_left_alone
    assert rests[-1] is None


def test_a_call_during_a_step_is_not_lost() -> None:
    class Busy(Subject):
        def judge(self) -> int | None:
            if self.after_ns is None:
                self.after_ns = HOUR_NS
                watcher.wake(self)
            return super().judge()

    watcher, subject = Watcher(first_ns=1), Busy()
    watcher.watch(subject)
    assert subject.was_stepped()
    assert subject.was_stepped()
    watcher.close()


def test_its_thread_stays_for_a_subject_that_comes_soon_after_the_last() -> None:
    watcher, subject = Watcher(first_ns=HOUR_NS), Subject()
    watcher.watch(subject)
    first = watcher._thread
    del subject
    gc.collect()
    watcher.wake()
    another = Subject()
    watcher.watch(another)
    watcher.wake()
    assert another.was_stepped()
    assert watcher._thread is first
    watcher.close()


def test_it_ends_after_the_last_subject_and_begins_with_the_next() -> None:
    watcher, subject = Watcher(first_ns=1_000_000), Subject()
    watcher.watch(subject)
    first = watcher._thread
    assert first is not None
    del subject
    gc.collect()
    watcher.wake()
    first.join(SOON_S)
    assert not first.is_alive()
    another = Subject()
    watcher.watch(another)
    watcher.wake()
    assert another.was_stepped()
    watcher.close()


def test_nothing_is_watched_once_it_is_closed() -> None:
    watcher, subject = Watcher(), Subject()
    watcher.close()
    watcher.watch(subject)
    assert watcher._thread is None
