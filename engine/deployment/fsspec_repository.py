"""A shared repository behind a URL that fsspec knows, as ``s3://bucket/models`` with s3fs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec

from surplus.engine.errors import ConfigError, one_line

_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created")
"""What file systems call that which changes with a file's contents; the first that is there."""


class FsspecRepository:
    """A ``SharedRepository``.

    Raises
    ------
    ValueError
        If fsspec knows no such protocol.
    ImportError
        If what it needs for it is not installed.
    ConfigError
        If it is not there, or cannot be read from here.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._system, self._root = fsspec.core.url_to_fs(self._url)
        try:
            self._system.ls(self._root, detail=False)
        except Exception as error:  # each file system has its own
            raise ConfigError(f"repository {self._url}: {one_line(error)}") from error

    def files(self, name: str) -> Mapping[str, str]:
        """Stamped with what the store has: an ETag, a time; and with sizes."""
        folder = f"{self._root}/{name}"
        try:
            self._system.invalidate_cache()
            found: Mapping[str, Any] = self._system.find(folder, detail=True)
        except Exception as error:  # each file system has its own
            raise ConfigError(f"repository {self._url}/{name}: {one_line(error)}") from error
        paths = {path.partition(f"{folder}/")[2]: told for path, told in found.items()}
        # Stores have objects that stand for folders, and whose names end as theirs.
        return {
            path: _stamp(told) for path, told in paths.items() if path and not path.endswith("/")
        }

    def copy(self, name: str, path: str, to: Path) -> None:
        """Download."""
        try:
            self._system.get_file(f"{self._root}/{name}/{path}", str(to))
        except Exception as error:
            raise ConfigError(f"repository {self._url}/{name}/{path}: {one_line(error)}") from error


def _stamp(told: Mapping[str, Any]) -> str:
    known = next((str(told[key]) for key in _STAMPS if told.get(key)), "")
    return f"{known}-{told.get('size')}"
