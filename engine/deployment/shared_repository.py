"""Models that all nodes take from one place: a folder that each sees, or a store of objects.

Laid out as any repository (``surplus.engine.repository.layout``). A version that nodes have taken
is not looked at again unless its files' stamps change; new ones get a new number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from surplus.engine.errors import ConfigError, one_line


class SharedRepository(Protocol):
    """What is asked of the place."""

    def files(self, name: str) -> Mapping[str, str]:
        """Paths of a model's files below its folder, and what changes when they do; may be none.

        Raises
        ------
        ConfigError
            If the place cannot be read, with why.
        """
        ...

    def copy(self, name: str, path: str, to: Path) -> None:
        """Copy a file; raises as ``files``."""
        ...


def open_repository(place: str) -> SharedRepository:
    """What a path or URL stands for.

    Raises
    ------
    ConfigError
        If it cannot be read, or is a URL and fsspec, or what it needs for it, is not installed.
    """
    from surplus.engine.deployment.folder_repository import FolderRepository

    if "://" not in place:
        return FolderRepository(Path(place))
    try:
        from surplus.engine.deployment.fsspec_repository import FsspecRepository

        return FsspecRepository(place)
    except (ImportError, ValueError, OSError) as error:
        raise ConfigError(f"repository {place}: {one_line(error)}") from error


def versions_in(files: Mapping[str, Any]) -> list[int]:
    """Versions that paths lie in, oldest first."""
    first = {PurePosixPath(path).parts[0] for path in files if len(PurePosixPath(path).parts) > 1}
    return sorted(int(name) for name in first if _is_version(name))


def version_of(path: str) -> int | None:
    """Which version a file is of; None for what all versions share."""
    parts = PurePosixPath(path).parts
    return int(parts[0]) if len(parts) > 1 and _is_version(parts[0]) else None


def _is_version(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")
