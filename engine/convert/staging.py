"""A hidden folder beside the target, in which files are made before they are moved into place.

Whoever is killed leaves his folder behind; the next one for the same target removes it. The owner
of a folder holds its lock, which the system lets go when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MARK = ".convert-"


@contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A folder for the files of ``path``, on the same file system; gone when the block ends.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    _remove_abandoned(path)
    made, lock = _made(path)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _made(path: Path) -> tuple[Path, int]:
    """A new folder and the descriptor that holds its lock."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}{_MARK}", dir=path.parent))
        lock = _lock(made)
        # Until it was locked, somebody may have taken it for an abandoned one.
        if lock is not None and made.is_dir():
            return made, lock
        if lock is not None:
            os.close(lock)


def _remove_abandoned(path: Path) -> None:
    """Remove folders of this target whose owner is gone; what cannot be removed stays."""
    ours = re.compile(re.escape(f".{path.name}{_MARK}") + r"[a-z0-9_]+")
    for folder in path.parent.iterdir():
        if not ours.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
            continue
        lock = _lock(folder, only_if_free=True)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path, *, only_if_free: bool = False) -> int | None:
    """A descriptor that holds the folder's lock; None if it is gone, or not free.

    Where the file system has no locks, the owner goes on without and nothing counts as free.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if only_if_free or isinstance(error, FileNotFoundError):
            return None
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if only_if_free else 0))
    except OSError:
        if only_if_free:
            os.close(descriptor)
            return None
    return descriptor
