"""The thread that has models judged: steps each, survives their errors, ends with them."""

from __future__ import annotations

import gc
import logging
import threading

import pytest

from surplus.engine.judging.watcher import Watcher

SOON_S = 30.0


class Subject:
    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.stepped = threading.Event()

    def judge(self) -> None:
        self.stepped.set()
        if self.fails:
            raise ValueError("as planned")


def test_all_are_stepped_and_one_that_fails_is_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher(period_s=0.001)
    bad, good = Subject(fails=True), Subject()
    with caplog.at_level(logging.ERROR):
        watcher.watch(bad)
        watcher.watch(good)
        assert bad.stepped.wait(SOON_S)
        assert good.stepped.wait(SOON_S)
        good.stepped.clear()
        assert good.stepped.wait(SOON_S)
        watcher.close()
    assert "as planned" in caplog.text


def test_it_steps_when_it_is_woken() -> None:
    watcher, subject = Watcher(period_s=3600), Subject()
    watcher.watch(subject)
    watcher.wake()
    assert subject.stepped.wait(SOON_S)
    watcher.close()


def test_it_ends_with_the_last_subject_and_begins_with_the_next() -> None:
    watcher, subject = Watcher(period_s=3600), Subject()
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
    assert another.stepped.wait(SOON_S)
    watcher.close()


def test_nothing_is_watched_once_it_is_closed() -> None:
    watcher, subject = Watcher(), Subject()
    watcher.close()
    watcher.watch(subject)
    assert watcher._thread is None
