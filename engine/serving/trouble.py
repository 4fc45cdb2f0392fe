"""Why a query was not answered, or not in time."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from surplus.engine import errors


class Trouble(StrEnum):
    """In the order of the core's (engine/core/frontend/trouble.hpp)."""

    LATE = "late"
    """Answered, after it was due."""
    REFUSED = "refused"
    """It would not have been in time, or would have waited for too long."""
    QUEUE_FULL = "queue_full"
    MEMORY = "memory"
    DEADLINE = "deadline"
    """It passed first."""
    CANCELLED = "cancelled"
    SHUTDOWN = "shutdown"
    INPUT = "input"
    FAILED = "failed"


REFUSALS = (Trouble.REFUSED, Trouble.QUEUE_FULL, Trouble.MEMORY, Trouble.SHUTDOWN)
"""Turned away by the server's own rules."""

_TROUBLES: tuple[tuple[type[BaseException], Trouble], ...] = (
    (errors.RefusedError, Trouble.REFUSED),
    (errors.QueueFullError, Trouble.QUEUE_FULL),
    (errors.TurnedAwayError, Trouble.QUEUE_FULL),
    (errors.MemoryLimitError, Trouble.MEMORY),
    (errors.DeadlineError, Trouble.DEADLINE),
    (errors.CancelledError, Trouble.CANCELLED),
    (asyncio.CancelledError, Trouble.CANCELLED),
    (errors.UnavailableError, Trouble.SHUTDOWN),
    (errors.InputError, Trouble.INPUT),
    (errors.SharedMemoryError, Trouble.INPUT),
    (errors.UnsupportedError, Trouble.INPUT),
)


def trouble_of(error: BaseException) -> Trouble:
    """What an error that ended a query counts as."""
    return next((found for kind, found in _TROUBLES if isinstance(error, kind)), Trouble.FAILED)
