"""How long what a thread does may take: ONNX Runtime's runs that it starts end with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine import _core
from surplus.engine.errors import EngineError

_thread = threading.local()


@contextmanager
def time_limit(limit_s: float, error: EngineError) -> Iterator[None]:
    """End what the block runs when it takes too long, at the latest at its end; a limit around it
    holds, too.

    Parameters
    ----------
    limit_s : float
        Seconds; 0 is no limit.
    error : EngineError
        What is raised then, in the place of the errors of what was ended.
    """
    before_ns: int = getattr(_thread, "until_ns", 0)
    own_ns = time.monotonic_ns() + int(limit_s * 1e9) if limit_s else 0
    until_ns = min(filter(None, (before_ns, own_ns)), default=0)
    _set(until_ns)
    try:
        yield
        if own_ns and time.monotonic_ns() >= own_ns:
            raise error
    except (RuntimeError, EngineError) as failure:
        if failure is error or not own_ns or time.monotonic_ns() < own_ns:
            raise
        raise error from failure
    finally:
        _set(before_ns)


def left_s() -> float | None:
    """Seconds until the calling thread's limit, not below 0; None without one."""
    until_ns: int = getattr(_thread, "until_ns", 0)
    return max(0, until_ns - time.monotonic_ns()) / 1e9 if until_ns else None


def _set(until_ns: int) -> None:
    _thread.until_ns = until_ns
    _core.limit_calls(until_ns)
