"""Gives memory that the C library keeps after large frees back to the system."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from surplus.engine import _core


def release_free_memory() -> None:
    """Return free pages of the heap; takes about a millisecond for each 100 MiB.

    Parsing a model or measuring candidate plans frees much at once, which glibc otherwise keeps
    for as long as the process lives. Other C libraries have no such call and need none.
    """
    trim = _trim()
    if trim is not None and not _BATCHES.are_open:
        trim(0)


def give_back() -> None:
    """The same, and what ONNX Runtime keeps for the next query, where it is loaded."""
    with suppress(RuntimeError):
        _core.give_back_free_memory()
    release_free_memory()


@contextmanager
def released_at_the_end() -> Iterator[None]:
    """Do that once for all that is loaded within: what one load frees, the next one takes.

    To give pages back and to have them zeroed anew took longer than to open the sessions.
    """
    _BATCHES.add(1)
    try:
        yield
    finally:
        _BATCHES.add(-1)
        release_free_memory()


class _Batches:
    """How many such blocks are open. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0

    @property
    def are_open(self) -> bool:
        return self._open > 0

    def add(self, count: int) -> None:
        with self._lock:
            self._open += count


_BATCHES = _Batches()


@functools.cache
def _trim() -> Callable[[int], int] | None:
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
