"""SHA-256 of large files, computed again only after a change."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.cache.private import private_folder
from surplus.engine.dfg.stored_files import HASHES_FOLDER

_SETTLED_NS = 2_000_000_000
"""A file changed more recently could change again without a new time stamp, as in git's index."""

_SMALL_BYTES = 1 << 22
"""Below this size hashing is quicker than it would be to remember."""


class FileHashes:
    """Hashes of files by path, size, inode and time of change.

    Parameters
    ----------
    folder : Path
        Where they are remembered; one that cannot be written costs only time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def digest(self, file: Path) -> str:
        """SHA-256 of a file's content, in hex.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        stat = file.stat()
        if stat.st_size < _SMALL_BYTES:
            return _hash(file)
        state, note = _state(stat), self._note(file)
        known = _recall(note, state)
        if known is not None:
            return known
        digest = _hash(file)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS:
            with suppress(OSError):
                self._remember(note, state, digest)
        return digest

    def is_quick(self, file: Path) -> bool:
        """Whether its hash is known, or soon will be: nobody would notice."""
        try:
            stat = file.stat()
        except OSError:
            return True  # who reads it says why
        return stat.st_size < _SMALL_BYTES or _recall(self._note(file), _state(stat)) is not None

    def is_known(self, file: Path) -> bool:
        """Whether a model in this file was read before, or cannot be, as far as is told at once."""
        try:
            return self.is_quick(file) and self.parts(self.digest(file)) is not None
        except OSError:
            return True  # who reads it says why

    def _note(self, file: Path) -> Path:
        return self._folder / hashlib.sha256(os.fsencode(file.absolute())).hexdigest()

    def parts(self, digest: str) -> list[str] | None:
        """Names of the other files that the file of this digest refers to; None if unknown."""
        found = read_note(self._parts_note(digest))
        whole = isinstance(found, list) and all(isinstance(name, str) for name in found)
        return found if whole else None

    def remember_parts(self, digest: str, names: list[str]) -> None:
        """Note which other files the file of this digest refers to."""
        with suppress(OSError):
            write_note(private_folder(self._folder) / f"{digest}.parts", names)

    def _parts_note(self, digest: str) -> Path:
        return self._folder / f"{digest}.parts"

    def _remember(self, note: Path, state: list[int], digest: str) -> None:
        write_note(private_folder(self._folder) / note.name, {"state": state, "sha256": digest})


def hashes_in(cache_folder: Path) -> FileHashes:
    """Hashes of users' files that the cache remembers."""
    return FileHashes(cache_folder / HASHES_FOLDER)


def _state(stat: os.stat_result) -> list[int]:
    return [stat.st_size, stat.st_ino, stat.st_dev, stat.st_mtime_ns, stat.st_ctime_ns]


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _recall(note: Path, state: list[int]) -> str | None:
    try:
        found = read_note(note)
        digest = found["sha256"] if found["state"] == state else None
        return digest if isinstance(digest, str) and len(bytes.fromhex(digest)) == 32 else None
    except (ValueError, KeyError, TypeError):
        return None
