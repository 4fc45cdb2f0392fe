"""Keeps segments' files beside the weights that they refer to, or in a stand-in for that folder.

A cache that cannot be written (read-only, full) costs only the cache: segments go to a temporary
folder until the process ends. ONNX Runtime takes weights from below the model's own folder only,
no symbolic link either, so the stand-in holds a hard link to them, or else a copy.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from surplus.engine.cache.private import temporary_folder, write_private
from surplus.engine.cache.sealed_file import is_intact, sealed
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.stored_files import WEIGHTS_FILE
from surplus.engine.errors import DeviceError

_log = logging.getLogger(__name__)


@dataclass
class _StandIns:
    by_folder: dict[Path, Path] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_STAND_INS = _StandIns()


def stored(graph: Graph, name: str, make: Callable[[], bytes]) -> Path:
    """The file of that name beside the graph's weights, made unless it is there.

    Written whole or not at all, so that a killed process leaves no broken segment.

    Raises
    ------
    DeviceError
        If no temporary folder can take it either.
    """
    folders = [graph.folder]
    if graph.folder in _STAND_INS.by_folder:
        folders.append(_STAND_INS.by_folder[graph.folder])
    for folder in folders:
        if is_intact(folder / name):
            return folder / name
    content = make()
    try:
        try:
            return _written(folders[-1] / name, content)
        except OSError as error:
            return _written(_stand_in(graph.folder, error) / name, content)
    except OSError as error:
        raise DeviceError(f"cannot write the segment {name}: {error}") from error


def _written(path: Path, content: bytes) -> Path:
    write_private(path, sealed(content, path.parent, [WEIGHTS_FILE]))
    return path


def _stand_in(folder: Path, reason: OSError) -> Path:
    with _STAND_INS.lock:
        if folder not in _STAND_INS.by_folder:
            made = temporary_folder()
            _log.warning("%s cannot be written (%s): segments are kept in %s", folder, reason, made)
            _link(folder / WEIGHTS_FILE, made / WEIGHTS_FILE)
            _STAND_INS.by_folder[folder] = made
        return _STAND_INS.by_folder[folder]


def _link(weights: Path, target: Path) -> None:
    try:
        os.link(weights, target)
    except OSError:
        # Another file system.
        import shutil

        shutil.copyfile(weights, target)
