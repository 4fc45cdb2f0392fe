"""Work counted instead of timed: how often functions are called, and how often names are compared.

What takes a time that grows faster than its input makes more calls, or compares more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

LINEAR = 2.3
"""At most so many times the work for twice the size."""


def calls_of(work: Callable[[], object]) -> int:
    """Calls of functions, of Python's and built-in ones, that ``work`` makes."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class CountedName(str):
    """A name that counts how often such names are hashed or compared."""

    __slots__ = ()
    touched = 0

    def __eq__(self, other: object) -> bool:
        CountedName.touched += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        CountedName.touched += 1
        return str.__hash__(self)


def touches_of(work: Callable[[], object]) -> int:
    """How often names are hashed or compared by ``work``."""
    before = CountedName.touched
    work()
    return CountedName.touched - before
