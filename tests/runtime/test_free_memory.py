"""Memory that loads free is given back, of many at once."""

import pytest

from surplus.engine.runtime import free_memory
from surplus.engine.runtime.free_memory import release_free_memory, released_at_the_end


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the C library was asked to keep, call by call."""
    kept: list[int] = []
    monkeypatch.setattr(free_memory, "_trim", lambda: kept.append)
    return kept


def test_memory_is_given_back_at_once(trims: list[int]) -> None:
    release_free_memory()
    assert trims == [0]


def test_many_loads_give_it_back_together(trims: list[int]) -> None:
    with released_at_the_end():
        release_free_memory()
        with released_at_the_end():
            release_free_memory()
        assert trims == []
    assert trims == [0]


def test_loads_that_fail_give_it_back(trims: list[int]) -> None:
    with pytest.raises(RuntimeError, match="load"), released_at_the_end():
        raise RuntimeError("load")
    assert trims == [0]
    release_free_memory()
    assert trims == [0, 0]
