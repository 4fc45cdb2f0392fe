"""How a process that works for another one ends with it."""

from __future__ import annotations

import os
import sys
import threading


def end_with_parent() -> None:
    """End this process, from now on, when its standard input closes; that has been read so far.

    The parent's side closes however that one ends, and what is stored is stored whole.
    """
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
