"""Whole files or none."""

from __future__ import annotations

import os
from pathlib import Path

PUBLIC = 0o644
"""Mode of what a user asks for; what is the user's alone is ``surplus.engine.cache.private``'s."""


def write_atomic(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Replace ``path`` with ``data`` in one step; a reader never sees half of it.

    Parameters
    ----------
    mode : int
        Permissions of the new file, whatever the umask.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written, naming ``path``; nothing is left behind.
    """
    try:
        _replace(path, data, mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, data: bytes, mode: int) -> None:
    import tempfile  # a start that writes nothing does without

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
