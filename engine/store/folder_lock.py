"""Locks on a folder: many may use its files at a time, one alone may remove some.

The lock is the folder's own, so that it needs no file and goes with the process that holds it.
Where a file system has no locks, files are used all the same, and none are removed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def files_in_use(folder: Path) -> Iterator[None]:
    """While this lasts, nobody removes files of the folder. Waits for somebody who does."""
    descriptor = _locked(folder, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Whether nobody uses the folder's files; if so, nobody begins to while this lasts."""
    descriptor = _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(folder: Path, operation: int) -> int | None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, operation)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
