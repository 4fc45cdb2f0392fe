"""A shared repository that every node sees as a folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from surplus.engine.errors import ConfigError


class FolderRepository:
    """A ``SharedRepository``.

    Raises
    ------
    ConfigError
        If there is no such folder here.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ConfigError(f"repository {root}: no such folder")
        self._root = root

    def files(self, name: str) -> Mapping[str, str]:
        """Stamped with time and size."""
        folder = self._root / name
        found = {}
        try:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    told = file.stat()
                    stamp = f"{told.st_mtime_ns}-{told.st_size}"
                    found[file.relative_to(folder).as_posix()] = stamp
        except OSError as error:
            raise ConfigError(f"repository {folder}: {error.strerror}") from error
        return found

    def copy(self, name: str, path: str, to: Path) -> None:
        """By the system."""
        try:
            shutil.copyfile(self._root / name / path, to)
        except OSError as error:
            raise ConfigError(f"repository {self._root / name / path}: {error.strerror}") from error
