"""When memory is given back, on a clock of the test's own."""

from __future__ import annotations

import asyncio

import pytest

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.serving.memory_watch import (
    FIRST_NS,
    LONG_FULL_NS,
    LONGEST_NS,
    NEAR_NS,
    MemoryWatch,
)

MIB = 1 << 20


class Process:
    """Holds what the test says, at the time that it says; gives back all above ``needed``."""

    def __init__(self, limit_bytes: int = 0) -> None:
        self.account = _core.MemoryAccount(limit_bytes)
        self.needed = self.held = 100 * MIB
        self.now_ns = 0
        self.told: list[bool] = []
        """Whether whatever might take memory was to be ended, each time that it was reached."""
        self.watch = MemoryWatch(
            self.account, self.give_back, self.told.append, lambda: self.held, lambda: self.now_ns
        )

    def give_back(self) -> None:
        self.held = self.needed

    def due_after_ns(self) -> int:
        """How long it takes until memory is given back, looking often."""
        began_ns, step_ns = self.now_ns, NEAR_NS // 5
        while not self.watch.is_due():
            self.now_ns += step_ns
            assert self.now_ns - began_ns <= 2 * LONGEST_NS
        self.give_back()
        self.watch.given_back()
        return self.now_ns - began_ns


def test_others_are_what_is_held_beside_the_account() -> None:
    process = Process()
    process.watch.tell()
    assert process.account.others_bytes == 100 * MIB
    assert process.account.try_take(30 * MIB)
    process.watch.tell()
    assert process.account.others_bytes == 70 * MIB
    assert process.account.try_take(200 * MIB)  # announced, and not there yet
    process.watch.tell()
    assert process.account.others_bytes == 0


def test_nothing_is_given_back_of_little() -> None:
    process = Process()
    process.held += 20 * MIB
    for _ in range(100):
        process.now_ns += FIRST_NS
        assert not process.watch.is_due()


def test_it_is_given_back_a_while_after_it_was_used() -> None:
    process = Process()
    process.held = 900 * MIB
    assert process.due_after_ns() == FIRST_NS
    assert process.account.others_bytes == 100 * MIB


def test_what_queries_held_then_is_given_back_once_they_have_ended() -> None:
    process = Process()
    assert process.account.try_take(600 * MIB)
    process.held = 900 * MIB
    process.needed = 700 * MIB
    process.due_after_ns()
    process.account.give(600 * MIB)
    process.needed = 100 * MIB
    assert process.due_after_ns() <= LONGEST_NS
    assert process.held == 100 * MIB


def test_what_is_wanted_again_is_kept_for_longer_up_to_a_limit() -> None:
    process = Process()
    waits = []
    for _ in range(5):
        process.held = 900 * MIB
        waits.append(process.due_after_ns())
    assert waits == [min(FIRST_NS << n, LONGEST_NS) for n in (0, 0, 1, 2, 3)]
    process.held = 300 * MIB  # it was not
    process.due_after_ns()
    process.held = 300 * MIB
    assert process.due_after_ns() == FIRST_NS


def test_near_the_limit_it_is_given_back_soon() -> None:
    process = Process(limit_bytes=1000 * MIB)
    process.held = 900 * MIB
    assert process.due_after_ns() == NEAR_NS


def test_where_the_limit_is_reached_somebody_is_ended() -> None:
    process = Process(limit_bytes=1000 * MIB)
    process.held = 990 * MIB
    process.watch.tell()
    assert process.told == []
    for _ in range(3):
        process.held = 1001 * MIB
        process.watch.tell()
        process.now_ns += LONG_FULL_NS // 2
    assert process.told == [False, False, True]
    process.held = 500 * MIB
    process.watch.tell()
    process.held = 1001 * MIB
    process.watch.tell()
    assert process.told == [False, False, True, False]


def test_what_cannot_be_given_back_is_what_the_process_needs() -> None:
    process = Process()
    process.needed = process.held = 900 * MIB
    process.due_after_ns()
    process.now_ns += LONGEST_NS
    assert not process.watch.is_due()


def test_it_looks_until_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    process.held = 900 * MIB
    looks = []

    async def sleep(seconds: float) -> None:
        process.now_ns += int(seconds * 1e9)
        looks.append(process.held)
        if process.held == process.needed:
            raise asyncio.CancelledError

    monkeypatch.setattr("surplus.engine.serving.memory_watch.asyncio.sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(process.watch.run())
    assert looks[0] == 900 * MIB
    assert looks[-1] == 100 * MIB


def test_this_process_holds_something() -> None:
    before = resident_bytes()
    block = bytearray(64 * MIB)
    assert resident_bytes() >= before + 32 * MIB
    del block
