"""Graphs of models that were read before: opened from the cache without parsing anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from surplus.engine.cache.private import private_folder
from surplus.engine.cache.sealed_file import is_intact
from surplus.engine.custom_operators import custom_operators_mark
from surplus.engine.dfg.content import Content
from surplus.engine.dfg.file_hashes import hashes_in
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.source_hash import known_source_hash
from surplus.engine.dfg.stored_files import MODEL_FILE, RUNNABLE_FILE
from surplus.engine.dfg.summary import Summary
from surplus.engine.dfg.summary_file import read_summary
from surplus.engine.native import load_runtime

_FORMAT = 7
"""Counts up when what is stored in the cache changes its meaning."""


def known_graph(path: Path | str, cache_folder: Path | str) -> Graph | None:
    """The graph of an unchanged model that was read before; None if it must be read.

    What is wrong with the file, if anything, is said by who reads it.
    """
    path, cache_folder = Path(path).absolute(), private_folder(Path(cache_folder).absolute())
    if not path.is_file():
        return None
    digest = known_source_hash(path, hashes_in(cache_folder))
    return None if digest is None else graph_of(path.stem, digest, cache_folder)


def graph_of(name: str, digest: str, cache_folder: Path) -> Graph | None:
    """The stored graph of the source with that hash; None if it has no sound summary."""
    folder = folder_of(digest, cache_folder)
    summary = read_summary(folder / MODEL_FILE) if is_whole(folder) else None
    return None if summary is None else summarised(name, folder, digest, summary)


def summarised(
    name: str, folder: Path, digest: str, summary: Summary, content: Content | None = None
) -> Graph:
    """A graph in its folder, which is parsed when somebody looks at more than its summary."""
    runnable = folder / RUNNABLE_FILE
    model = runnable if runnable.exists() else folder / MODEL_FILE
    return Graph(name, model, digest, partial(_content, folder), content=content, summary=summary)


def folder_of(digest: str, cache_folder: Path) -> Path:
    """Where the graph of the source with that hash is kept."""
    runtime = load_runtime()
    mark = custom_operators_mark()
    operators = f"-{mark}" if mark else ""
    return cache_folder / f"{digest}-ort{runtime}-{_FORMAT}{operators}"


def is_whole(folder: Path) -> bool:
    """Whether the folder holds a graph, and all of it is what was written."""
    return is_intact(folder / MODEL_FILE)


def _content(folder: Path) -> Content:
    from surplus.engine.dfg.onnx_reader import (
        content_in,  # parsing needs what a stored plan does without
    )

    return content_in(folder)
