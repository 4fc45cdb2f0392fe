from __future__ import annotations

import pytest

from surplus.engine import _core
from surplus.engine.errors import MemoryLimitError
from surplus.engine.serving.memory_share import MemoryShare


def test_it_gives_back_what_it_took() -> None:
    account = _core.MemoryAccount(100)
    with MemoryShare(account) as share:
        share.take(40, "a")
        share.take(60, "b")
        assert account.held_bytes == 100
    assert account.held_bytes == 0
    share.give_all()
    assert account.held_bytes == 0


def test_above_the_limit_it_says_what_for_and_keeps_the_rest() -> None:
    account = _core.MemoryAccount(100)
    with MemoryShare(account) as share:
        share.take(40, "the request")
        with pytest.raises(MemoryLimitError, match=r"the answer: 61 bytes more .* limit of 100"):
            share.take(61, "the answer")
        assert account.held_bytes == 40
        assert account.refused == 1
    assert account.held_bytes == 0


def test_what_others_hold_counts() -> None:
    account = _core.MemoryAccount(100)
    account.others_bytes = 90
    with MemoryShare(account) as share, pytest.raises(MemoryLimitError):
        share.take(11, "a request")
    account.limit_bytes = 0
    with MemoryShare(account) as share:
        share.take(1 << 40, "a request")
