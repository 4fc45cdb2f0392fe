"""Folders and files of the user's alone.

The cache holds what is in the user's models, and decides what they answer. So nobody else may read
it, and what somebody else may have written is not used.
"""

from __future__ import annotations

import atexit
import logging
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

from surplus.engine.atomic_file import write_atomic

_log = logging.getLogger(__name__)

_READ_ONLY = 0o400
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

_LOCK = threading.Lock()
_INSTEAD: dict[Path, Path] = {}
"""Temporary folders in the place of those that are not to be trusted."""


def private_folder(folder: Path) -> Path:
    """The folder, made if need be; for one that others could have filled, a temporary one.

    A folder of the user's that others may only read is closed to them. One of root's is trusted.
    One that cannot be made is returned all the same: writing there will say why.
    """
    with suppress(OSError):
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        found = folder.stat()
    except OSError:
        return folder
    reason = distrust(found)
    if reason:
        return _instead_of(folder, reason)
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        with suppress(OSError):  # a file system that is read-only
            folder.chmod(0o700)
    return folder


def distrust(found: os.stat_result) -> str:
    """Why a file or folder may hold what another user wrote; empty if only this one or root can."""
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & _OTHERS_MAY_WRITE:
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o})"
    return ""


def open_private(path: Path) -> int:
    """A descriptor of a file that only this user or root can have written.

    Raises
    ------
    OSError
        If there is none, it cannot be read, or it is not to be trusted.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        reason = distrust(found) if stat.S_ISREG(found.st_mode) else "it is no regular file"
        if reason:
            raise PermissionError(f"{path} is not trusted: {reason}")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_private(path: Path) -> bytes:
    """The content of a file; raises as ``open_private``."""
    with open(open_private(path), "rb") as file:
        return file.read()


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step by one that the user alone can read, whatever the umask.

    Raises
    ------
    OSError
        If it cannot be written, naming ``path``; nothing is left behind.
    """
    write_atomic(path, data, 0o600)


def write_unchanging(path: Path, data: bytes) -> None:
    """``write_private`` of what processes map: no program changes it in place by mistake."""
    write_atomic(path, data, _READ_ONLY)


def make_unchanging(path: Path) -> None:
    """The same for a file that somebody else has written, ONNX Runtime say."""
    path.chmod(_READ_ONLY)


def temporary_folder() -> Path:
    """A private folder that goes when the process ends."""
    import shutil  # few need one
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="surplus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _instead_of(folder: Path, reason: str) -> Path:
    with _LOCK:
        if folder not in _INSTEAD:
            _INSTEAD[folder] = temporary_folder()
            _log.warning(
                "cache %s is not used: %s; until this process ends %s is (to use it again,"
                " remove it, or name a folder that is yours alone)",
                folder,
                reason,
                _INSTEAD[folder],
            )
        return _INSTEAD[folder]
