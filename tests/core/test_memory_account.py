"""Operators' tensors count in the process's account, and what exceeds it fails its query alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest

from surplus.engine import _core
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

MIB = 1 << 20


@pytest.fixture
def account() -> Iterator[_core.MemoryAccount]:
    open_session(_zeros())  # ONNX Runtime is there
    _core.give_back_free_memory()
    account = _core.process_memory()
    yield account
    account.limit_bytes = 0


def _zeros() -> bytes:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    zeros (int64[1] x) => (float[n] y) { t = ConstantOfShape(x)  y = Neg(t) }"""
    return onnx.parser.parse_model(text).SerializeToString()


def _asked(session: _core.Session, count: int) -> _core.Value:
    return session.run({"x": to_value(np.array([count]))})[0]


@pytest.mark.parametrize("size_mib", [1, 40], ids=["of the arena", "large"])
def test_tensors_count_while_they_live(account: _core.MemoryAccount, size_mib: int) -> None:
    session = open_session(_zeros())
    before = account.held_bytes
    answer = _asked(session, size_mib * MIB // 4)
    assert size_mib * MIB <= account.held_bytes - before <= 2 * (size_mib + 4) * MIB
    del answer
    _core.give_back_free_memory()
    assert account.held_bytes == before


def test_small_ones_do_not(account: _core.MemoryAccount) -> None:
    session = open_session(_zeros())
    before = account.held_bytes
    answer = _asked(session, 1000)
    assert account.held_bytes == before
    assert from_value(answer).size == 1000


@pytest.mark.parametrize("count", [MIB, 500_000_000, 2**61], ids=["4 MB", "2 GB", "no memory's"])
def test_above_the_limit_the_query_fails(account: _core.MemoryAccount, count: int) -> None:
    session = open_session(_zeros())
    before = account.held_bytes
    account.limit_bytes = before + 3 * MIB
    with pytest.raises(_core.StatusError) as caught:
        _asked(session, count)
    if count < 2**60:
        assert caught.value.code == _core.MEMORY_REFUSED
        assert str(caught.value).endswith("bytes more are above the memory limit")
    assert account.held_bytes == before
    assert from_value(_asked(session, 1000)).size == 1000


def test_what_is_kept_makes_room(account: _core.MemoryAccount) -> None:
    session = open_session(_zeros())
    account.limit_bytes = account.held_bytes + 140 * MIB
    found = []
    for size_mib in (33, 36, 40, 46):  # two or three each: with the others kept, too much
        found.append(from_value(_asked(session, size_mib * MIB // 4)).size * 4 // MIB)
    assert found == [33, 36, 40, 46]
