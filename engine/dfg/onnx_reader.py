"""Reads an ONNX file: hash, basic optimisation (cached by hash), shapes, graph."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx

from surplus.engine.cache.private import (
    make_unchanging,
    private_folder,
    temporary_folder,
    write_private,
)
from surplus.engine.cache.proven_files import keep_notes
from surplus.engine.cache.sealed_file import read_sealed, sealed
from surplus.engine.dfg.build import content_of
from surplus.engine.dfg.content import Content
from surplus.engine.dfg.file_hashes import FileHashes, hashes_in
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.known_graph import (
    folder_of,
    graph_of,
    is_whole,
    known_graph,
    summarised,
)
from surplus.engine.dfg.model_file import parse, remember_source, source_hash
from surplus.engine.dfg.omitted_inputs import refuse_omitted_items
from surplus.engine.dfg.optimise import optimise
from surplus.engine.dfg.stored_files import (
    GIVEN_FILE,
    GIVEN_WEIGHTS_FILE,
    MODEL_FILE,
    RUNNABLE_FILE,
    WEIGHTS_FILE,
)
from surplus.engine.dfg.summarise import summary_of
from surplus.engine.dfg.summary_file import write_summary
from surplus.engine.errors import ModelError
from surplus.engine.utf8_path import utf8_path

_log = logging.getLogger(__name__)

Check = Callable[[Path, str, Path], None]


def read(path: Path | str, cache_folder: Path | str, check: Check | None = None) -> Graph:
    """The data-flow graph of any model that ONNX Runtime loads.

    Parameters
    ----------
    path : Path
        The ONNX file; its external data lies beside it or below.
    cache_folder : Path
        Keeps the optimised model by the hash of its source. If it cannot be written, a
        temporary folder serves until the process ends.
    check : callable, optional
        Called with path, hash and cache folder of a model that is not known before it is opened.

    Raises
    ------
    ModelError
        In one line: the file and why it cannot be used.
    """
    path, cache_folder = utf8_path(path), private_folder(Path(cache_folder).absolute())
    if path.exists() and not path.is_file():  # a device may never end
        raise ModelError(f"{path}: not a regular file")
    try:
        known = known_graph(path, cache_folder)
        return known or _parsed(path, cache_folder, hashes_in(cache_folder), check)
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: a name in the model is not UTF-8 text") from error


def _parsed(path: Path, cache_folder: Path, hashes: FileHashes, check: Check | None) -> Graph:
    model = parse(path)
    refuse_omitted_items(model, path)
    digest = source_hash(model, path, hashes)
    graph = _cached(path.stem, digest, cache_folder)
    if graph is None:
        if check is not None:
            check(path, digest, cache_folder)
        folder, optimised = _optimised(path, model, cache_folder, folder_of(digest, cache_folder))
        graph = _noted(path.stem, folder, digest, content_of(optimised))
    if graph.folder.parent == cache_folder:
        remember_source(model, path, hashes)
    return graph


def _cached(name: str, digest: str, cache_folder: Path) -> Graph | None:
    stored = folder_of(digest, cache_folder)
    known = graph_of(name, digest, cache_folder)
    if known is not None or not is_whole(stored):
        return known
    try:
        return _noted(name, stored, digest, content_in(stored))
    except ModelError as error:
        _log.warning("cached model is damaged and made again: %s", error)
        return None


def _noted(name: str, folder: Path, digest: str, content: Content) -> Graph:
    """The graph of what was just parsed; the next start does without."""
    summary = summary_of(content)
    with suppress(OSError):  # a cache that cannot be written costs time and memory
        write_summary(folder / MODEL_FILE, summary)
    return summarised(name, folder, digest, summary, content)


def content_in(folder: Path) -> Content:
    """All of a stored graph.

    Raises
    ------
    ModelError
        If its file is gone or damaged.
    """
    return content_of(parse(folder / MODEL_FILE, read_sealed))


def _optimised(
    path: Path, model: onnx.ModelProto, cache_folder: Path, stored: Path
) -> tuple[Path, onnx.ModelProto]:
    """Folder and content of the optimised model; in a temporary folder if the cache is full."""
    fresh = _new_folder(cache_folder)
    try:
        try:
            return _published(path, model, fresh, stored)
        except OSError as error:
            if fresh.parent != cache_folder:
                raise
            # Parsed again, since optimising changes the model that it is given.
            return _published(path, parse(path), _temporary(cache_folder, error), stored)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) or type(error) is ValueError:
            raise ModelError(f"{path}: cannot store the optimised model: {error}") from error
        raise


def _published(
    path: Path, model: onnx.ModelProto, fresh: Path, stored: Path
) -> tuple[Path, onnx.ModelProto]:
    """Optimise into a fresh folder and publish that; nothing of it stays where that fails."""
    try:
        optimise(path, model, fresh)
        optimised = parse(fresh / MODEL_FILE)
        _seal(fresh)
        return _publish(fresh, stored), optimised
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _seal(folder: Path) -> None:
    """Have the model's file prove its weights, and its form without defaults if it has one."""
    parts = [name for name in (WEIGHTS_FILE, GIVEN_WEIGHTS_FILE) if (folder / name).exists()]
    for name in parts:
        make_unchanging(folder / name)
    for name in (GIVEN_FILE, RUNNABLE_FILE, MODEL_FILE):
        file = folder / name
        if file.exists():
            write_private(file, sealed(file.read_bytes(), folder, parts))
            parts.append(name)
    keep_notes(folder)


def _new_folder(cache_folder: Path) -> Path:
    """A private folder, in the cache so that publishing it is one rename, else temporary."""
    try:
        return Path(tempfile.mkdtemp(prefix=".new-", dir=cache_folder))
    except OSError as error:
        return _temporary(cache_folder, error)


def _temporary(cache_folder: Path, error: OSError) -> Path:
    _log.warning("cache %s cannot be written (%s): not cached", cache_folder, error)
    return temporary_folder()


def _publish(fresh: Path, stored: Path) -> Path:
    """Rename into place; another process that was faster wins, a damaged copy gives way."""
    if fresh.parent != stored.parent:
        return fresh
    damaged = stored.with_name(f".old-{fresh.name}")
    try:
        if stored.exists():
            stored.rename(damaged)
        fresh.rename(stored)
    except OSError:
        if not is_whole(stored):
            raise
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(damaged, ignore_errors=True)
    return stored
