"""Work of another thread."""

from __future__ import annotations

import threading

import pytest

from surplus.engine.pipeline.beside import beside


def test_it_is_done_in_another_thread() -> None:
    begun = threading.Event()

    def work() -> int:
        begun.set()
        return threading.get_ident()

    result = beside(work)
    assert begun.wait(60)
    assert result() != threading.get_ident()


def test_what_it_raises_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(LookupError, match="lost"):
        beside(lambda: {}["lost"])()
