"""Whether the files of a model have changed since somebody looked: by time, size and place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

_DEPTH = 4
"""Of folders: a version's, the model's, and what external data may lie in."""


def stamp_of(path: Path) -> str:
    """Of a model's folder, or its one file: another one whenever a file has changed, come or gone.

    Contents are not read: a file that is written anew without any other time, size or inode keeps
    its stamp. Empty if nothing is there.
    """
    known = hashlib.sha256()
    for file in sorted(files_of(path)):
        try:
            told = file.stat()
        except OSError:  # it has gone, and the next look says so
            continue
        known.update(f"{file}\0{told.st_mtime_ns}\0{told.st_size}\0{told.st_ino}\n".encode())
    return known.hexdigest() if path.exists() else ""


def files_of(path: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """The files of a folder and of those in it; a file itself."""
    if not path.is_dir():
        yield path
        return
    try:
        entries = list(path.iterdir()) if depth else []
    except OSError:
        return
    for entry in entries:
        yield from files_of(entry, depth - 1)
