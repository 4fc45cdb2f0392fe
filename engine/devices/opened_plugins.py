"""The plugin providers whose threads may run: they end with the process (plugins.py opens them)."""

from __future__ import annotations

import atexit

from surplus.engine import _core

OPENED: set[str] = set()
"""Their names."""


@atexit.register
def close_plugins() -> None:
    """End the providers' threads at exit: after machines are closed, whose hook came later."""
    if OPENED:
        _core.close_plugins()
