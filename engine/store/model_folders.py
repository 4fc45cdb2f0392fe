"""What the cache holds of each model: listed, and removed by age or down to a size."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.store.folder_lock import alone_in
from surplus.engine.store.folder_use import is_used, last_used_ns

_log = logging.getLogger(__name__)

_FOLDER = re.compile(r"[0-9a-f]{64}-ort.*")
_REMOVED = ".removed-"
_SOURCE = "source.note"
_LATELY_NS = 600 * 10**9
"""Who reads a folder and has not opened its model yet is done by then."""


@dataclass(frozen=True)
class ModelFolder:
    """What is kept of one model.

    Parameters
    ----------
    source : str
        The file that it was last read from; empty if that is not known.
    source_bytes : int
        Of that file as it is now; 0 if it is gone.
    plans : int
        Stored plans.
    used_ns : int
        When a model was last loaded from it, since the epoch.
    in_use : bool
        Whether one is loaded now.
    """

    path: Path
    source: str
    source_bytes: int
    size_bytes: int
    plans: int
    used_ns: int
    in_use: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "path": str(self.path)}


def note_source(folder: Path, source: Path) -> None:
    """Remember which file a folder is of, for who lists it."""
    with suppress(OSError):
        if read_note(folder / _SOURCE) != str(source):
            write_note(folder / _SOURCE, str(source))


def model_folders(cache: Path) -> list[ModelFolder]:
    """All models of a cache, the last used first."""
    try:
        folders = [path for path in cache.iterdir() if _FOLDER.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    return sorted(map(_described, folders), key=lambda found: -found.used_ns)


def prune(
    cache: Path, *, limit_bytes: int | None = None, unused_since_ns: int | None = None
) -> list[ModelFolder]:
    """Remove models: those not used since a time, then those used longest ago above a size.

    What is loaded, or was used within ten minutes, stays. What a killed process left goes.

    Parameters
    ----------
    limit_bytes : int, optional
        Of all models together.
    unused_since_ns : int, optional
        Since the epoch.

    Returns
    -------
    list of ModelFolder
        What was removed.
    """
    for left in (*cache.glob(f"{_REMOVED}*"), *_left_behind(cache)):
        shutil.rmtree(left, ignore_errors=True)
    found = model_folders(cache)
    chosen = list(_superfluous(found, limit_bytes, unused_since_ns))
    return [folder for folder in chosen if _remove(folder)]


def _superfluous(
    found: Sequence[ModelFolder], limit_bytes: int | None, unused_since_ns: int | None
) -> Iterator[ModelFolder]:
    """Of all models, the last used first."""
    total_bytes = sum(folder.size_bytes for folder in found)
    lately_ns = time.time_ns() - _LATELY_NS
    for folder in reversed(found):
        is_old = unused_since_ns is not None and folder.used_ns < unused_since_ns
        is_above = limit_bytes is not None and total_bytes > limit_bytes
        if (is_old or is_above) and not folder.in_use and folder.used_ns < lately_ns:
            total_bytes -= folder.size_bytes
            yield folder


def _remove(folder: ModelFolder) -> bool:
    """Rename, so that nobody finds half of it, then remove; False where somebody uses it."""
    away = folder.path.with_name(f"{_REMOVED}{folder.path.name}")
    with alone_in(folder.path) as alone:
        if not alone or is_used(folder.path):
            return False
        try:
            folder.path.rename(away)
        except OSError as error:
            _log.warning("%s is not removed: %s", folder.path, error)
            return False
    shutil.rmtree(away, ignore_errors=True)
    return True


def _left_behind(cache: Path) -> Iterator[Path]:
    """Folders of models that were being stored a day ago."""
    day_ago_ns = time.time_ns() - 86_400 * 10**9
    for path in cache.glob(".new-*"):
        with suppress(OSError):
            if path.stat().st_mtime_ns < day_ago_ns:
                yield path


def _described(path: Path) -> ModelFolder:
    source = read_note(path / _SOURCE)
    source = source if isinstance(source, str) else ""
    return ModelFolder(
        path=path,
        source=source,
        source_bytes=_size(Path(source)) if source else 0,
        size_bytes=sum(_size(file) for file in path.rglob("*")),
        plans=len(list(path.glob("plan-*.json"))),
        used_ns=last_used_ns(path),
        in_use=is_used(path),
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0
