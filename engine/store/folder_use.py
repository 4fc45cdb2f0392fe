"""Whether a loaded model runs from a folder of the cache, and when one last did.

The lock of ``folder_lock.py`` is held for moments; this one as long as the model is loaded, so that
what it may open later (another plan, the part of a policy) is still there.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_FILE = "in-use.lock"


class FolderUse:
    """Nobody removes the folder as long as this object lives.

    Where the folder is no part of a cache, or cannot be written, nothing is held.
    """

    def __init__(self, folder: Path, *, is_stored: bool) -> None:
        self._descriptor = -1
        if not is_stored:
            return
        with suppress(OSError):
            self._descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.utime(self._descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def is_used(folder: Path) -> bool:
    """Whether a loaded model holds it, in whatever process."""
    try:
        descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        return False
    finally:
        os.close(descriptor)
    return False


def last_used_ns(folder: Path) -> int:
    """When a model was last loaded from it, or it was made."""
    for file in (folder / _FILE, folder):
        with suppress(OSError):
            return file.stat().st_mtime_ns
    return 0
