"""Who prepares to make way, and when: models of this process and of others."""

from __future__ import annotations

import pytest

from surplus.engine.runtime import neighbours
from surplus.engine.runtime.neighbours import Neighbours


class Model:
    """Counts how often it is told that others are there."""

    def __init__(self) -> None:
        self.told = 0

    def be_ready(self) -> None:
        self.told += 1


class Elsewhere:
    """What other processes say: when one of them was asked last, 1 if none was yet."""

    def __init__(self) -> None:
        self.asked_ns = 0

    def expect_asked(self) -> int:
        return self.asked_ns

    def asked_elsewhere(self, now_ns: int) -> int:
        return now_ns if self.asked_ns > 1 else self.asked_ns


@pytest.fixture
def elsewhere(monkeypatch) -> Elsewhere:
    made = Elsewhere()
    monkeypatch.setattr(neighbours, "_core", made)
    return made


def test_who_is_alone_is_not_told(elsewhere) -> None:
    found, one = Neighbours(), Model()
    found.join(one)
    assert not found.asked(one)
    assert one.told == 0


def test_both_are_told_when_a_second_one_joins(elsewhere) -> None:
    found, one, other = Neighbours(), Model(), Model()
    found.join(one)
    found.join(other)
    assert (one.told, other.told) == (1, 1)


def test_who_joins_beside_another_process_is_told_at_once(elsewhere) -> None:
    elsewhere.asked_ns = 1
    found, one = Neighbours(), Model()
    found.join(one)
    assert one.told == 1
    assert not found.asked(one)  # nobody was asked there yet


def test_who_is_there_is_told_with_its_next_query_that_a_process_came(elsewhere) -> None:
    found, one = Neighbours(), Model()
    found.join(one)
    found.asked(one)
    elsewhere.asked_ns = 1
    assert one.told == 0
    found.asked(one)
    found.asked(one)
    assert one.told == 1
    elsewhere.asked_ns = 0
    found.asked(one)
    elsewhere.asked_ns = 2
    assert found.asked(one)
    assert one.told == 2
