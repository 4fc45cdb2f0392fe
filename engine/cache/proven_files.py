"""Checksums of large files, which are read again only when they may have changed.

A session maps files of hundreds of megabytes in a millisecond; reading them takes a hundred times
that. So what was found is noted, and holds while a file has the same inode, size and times: every
write and every truncation through the file system changes these. What changes a disk's content
under them, a failing disk, is found by the first process of a day or after a start of the machine.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from surplus.engine import _core
from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.cache.private import open_private

NOTE_FILE = "proven.json"

_SMALL_BYTES = 1 << 20
"""Such files are read each time: it takes a tenth of a millisecond."""

_SETTLED_NS = 50_000_000
"""A file changed more recently could change again within the same tick of the file system."""

_HOLDS_NS = 24 * 3600 * 10**9


class FileSum(NamedTuple):
    """Size in bytes and XXH64 of a file."""

    size: int
    checksum: int


def sum_of(path: Path) -> FileSum:
    """What the file holds, read now or known from before.

    Raises
    ------
    OSError
        If it cannot be read, or others could have written it.
    """
    descriptor = open_private(path)
    try:
        found = os.fstat(descriptor)
        if found.st_size < _SMALL_BYTES:
            return FileSum(*_core.file_checksum(descriptor))
        notes = _notes(path.parent)
        known = notes.recall(path.name, found)
        if known is None:
            known = FileSum(*_core.file_checksum(descriptor))
            if _state(os.fstat(descriptor)) == _state(found):
                notes.add(path.name, found, known)
        return known
    finally:
        os.close(descriptor)


def keep_notes(folder: Path) -> None:
    """Store what was found in a folder, for other processes; one that is read-only costs time."""
    with suppress(OSError):
        _notes(folder).store()


class _Notes:
    """What is known of one folder's files. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NOTE_FILE
        self._lock = threading.Lock()
        self._changed = False
        found = read_note(self._path)
        same_boot = isinstance(found, dict) and found.get("boot") == _boot()
        self._by_name: dict[str, Any] = dict(found["files"]) if same_boot else {}

    def recall(self, name: str, found: os.stat_result) -> FileSum | None:
        with self._lock:
            noted = self._by_name.get(name)
        if noted is None or noted["state"] != _state(found):
            return None
        if not 0 <= time.time_ns() - noted["read_ns"] < _HOLDS_NS:
            return None
        return FileSum(found.st_size, noted["checksum"])

    def add(self, name: str, found: os.stat_result, known: FileSum) -> None:
        now_ns = time.time_ns()
        if now_ns - found.st_ctime_ns < _SETTLED_NS:
            return
        noted = {"state": _state(found), "checksum": known.checksum, "read_ns": now_ns}
        with self._lock:
            self._by_name[name] = noted
            self._changed = True

    def store(self) -> None:
        with self._lock:
            if not self._changed:
                return
            there = {n: f for n, f in self._by_name.items() if self._path.with_name(n).exists()}
            self._changed = False
        write_note(self._path, {"boot": _boot(), "files": there})


@cache
def _notes(folder: Path) -> _Notes:
    return _Notes(folder)


@cache
def _boot() -> str:
    """Tells one start of the machine from another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _state(found: os.stat_result) -> list[int]:
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
