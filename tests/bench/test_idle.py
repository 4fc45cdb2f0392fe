"""What `bench idle` counts."""

from __future__ import annotations

import threading

from bench.idle.contender import cost
from bench.idle.thread_switches import voluntary_switches


def test_every_sleep_of_a_thread_that_lives_is_counted() -> None:
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)

    def answer() -> None:
        for _ in range(100):
            asked.acquire()
            answered.release()

    thread = threading.Thread(target=answer)
    before = voluntary_switches()
    thread.start()
    for _ in range(99):
        asked.release()
        answered.acquire()
    assert voluntary_switches() > before
    asked.release()
    thread.join()


def test_the_cost_is_of_a_query() -> None:
    asked: list[int] = []
    found = cost(lambda: asked.append(1), 2)
    assert len(asked) == 2
    assert found["wake-ups"] >= 1
    assert 0 < found["cpu ms"] < 1_000
