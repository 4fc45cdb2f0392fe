"""The hash of a model's files, of one that was read before without parsing it."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from surplus.engine.dfg.file_hashes import FileHashes
from surplus.engine.errors import ModelError


def known_source_hash(path: Path, memo: FileHashes) -> str | None:
    """``source_hash`` of a model that ``remember_source`` noted, without parsing it, else None.

    Parsing takes the memory of the file twice, which would be the peak of loading a model.
    """
    try:
        names = memo.parts(memo.digest(path))
        if names is None:
            return None
        return hash_of(path, [external_file(name, path) for name in names], memo)
    except (OSError, ModelError):
        return None  # the model is read, and what is wrong is said, as if it were new


def external_file(name: str, path: Path) -> Path:
    """A file of external data by the name that the model at ``path`` has for it.

    Raises
    ------
    ModelError
        If it lies outside the model's folder or does not exist.
    """
    pure = PurePosixPath(name)
    if not name or "\0" in name or pure.is_absolute() or ".." in pure.parts:
        raise ModelError(f"{path}: external data location {name!r} is not within its folder")
    file = path.parent / name
    if not file.is_file():
        raise ModelError(f"{path}: external data file {name!r} is missing")
    return file


def hash_of(path: Path, others: list[Path], memo: FileHashes) -> str:
    """SHA-256 over a model's file and those of its external data, in hex.

    Raises
    ------
    ModelError
        If a file cannot be read.
    """
    digest = hashlib.sha256()
    for file in (path, *others):
        try:
            part = memo.digest(file)
        except OSError as error:
            raise ModelError(f"{file}: {error.strerror or error}") from error
        digest.update(file.name.encode() if file != path else b"")
        digest.update(bytes.fromhex(part))
    return digest.hexdigest()
