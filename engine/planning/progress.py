"""How far a load has come, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
