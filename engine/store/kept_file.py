"""Files of models that came as bytes, kept by content for as long as somebody opens them."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from surplus.engine.cache.private import private_folder, temporary_folder, write_private

FOLDER = "given"
"""Within the cache."""

ORT_MAGIC = slice(4, 8), b"ORTM"
"""Where a file says that it is of ONNX Runtime's own format, and how."""

_UNUSED_NS = 30 * 24 * 3600 * 10**9
"""After a month that nobody opened it, a file goes."""


def kept_file(data: bytes, cache: Path) -> Path:
    """The file of that content; one that is there is not written again."""
    folder = private_folder(cache.absolute()) / FOLDER
    suffix = "ort" if data[ORT_MAGIC[0]] == ORT_MAGIC[1] else "onnx"
    name = f"{hashlib.sha256(data).hexdigest()}.{suffix}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _remove_unused(folder)
        path = folder / name
        if not (path.is_file() and path.stat().st_size == len(data)):
            write_private(path, data)
        _note_use(path)
    except OSError:  # a cache that cannot be written
        path = temporary_folder() / name
        write_private(path, data)
    return path


def _note_use(path: Path) -> None:
    """By the time of access alone: with that of modification the engine knows the file again."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _remove_unused(folder: Path) -> None:
    limit_ns = time.time_ns() - _UNUSED_NS
    for path in folder.iterdir():
        with suppress(OSError):  # somebody else was quicker
            if path.stat().st_atime_ns < limit_ns:
                path.unlink()
