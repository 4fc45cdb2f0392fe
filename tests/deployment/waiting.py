"""Waits for what happens in other processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(look: Callable[[], T], what: str, timeout_s: float = 90.0) -> T:
    """The first look that finds something.

    Raises
    ------
    AssertionError
        If none does in time; a machine that others use takes long for what is quick.
    """
    end_s = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < end_s, f"waited {timeout_s:g} s for {what}"
        time.sleep(0.05)
    return found
