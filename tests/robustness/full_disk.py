"""A folder that turns every writer away, as a read-only mount or a full disk does."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest


def refuse_writes(monkeypatch: pytest.MonkeyPatch, folder: Path, number: int) -> list[Path]:
    """Make new files and folders fail below ``folder`` with that errno; returns who tried.

    Tests may run as root, whom permissions do not stop.
    """
    tried: list[Path] = []

    def checked(real: Any, place: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            target = Path(kwargs.get("dir") or "/") if place == "dir" else Path(args[0])
            if target.is_relative_to(folder):
                tried.append(target)
                raise OSError(number, os.strerror(number), str(target))
            return real(*args, **kwargs)

        return call

    monkeypatch.setattr(tempfile, "mkstemp", checked(tempfile.mkstemp, "dir"))
    if number == errno.EROFS:
        monkeypatch.setattr(tempfile, "mkdtemp", checked(tempfile.mkdtemp, "dir"))
    monkeypatch.setattr(Path, "write_bytes", checked(Path.write_bytes, "first"))
    return tried
