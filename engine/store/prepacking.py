"""Segments as ONNX Runtime executes them: optimised, prepacked and packed once, offline.

ONNX Runtime rewrites weights when it makes a session (blocked layouts of convolutions, packed
right-hand sides of matrix products) and keeps these copies for each session. Here a segment is
written as it is after that, with every weight in a file of its own, named by its content. Sessions
map these files: a weight is in memory once, whatever the number of plans, widths and processes.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

from surplus.engine import _core
from surplus.engine.cache.private import write_private, write_unchanging
from surplus.engine.cache.proven_files import sum_of
from surplus.engine.cache.sealed_file import is_intact, sealed
from surplus.engine.dfg.constants import external_place, tensors_of_model
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.inline_sizes import may_be_sizes, put_inside
from surplus.engine.dfg.model_file import external_names, parse
from surplus.engine.dfg.value_types import forget_known_types
from surplus.engine.errors import ModelError, one_line
from surplus.engine.native import open_session
from surplus.engine.store.prepacked import prepacked_path

Bytes = npt.NDArray[np.uint8]

_log = logging.getLogger(__name__)

_WEIGHTS = "weights.bin"
_INLINE_BELOW_BYTES = 4096
"""A page: each file of weights is a mapping of its own, and a process may have 65,530 of these."""

_PACKED_PREFIX = "prepacked_"
_SAFE_PACKED = frozenset({"MatMul", "FusedMatMul", "Gemm", "FusedGemm"})
"""Whose packed weights are kept: one packed block a weight, tested. Others pack at load."""

_CONFIG = {
    "session.optimized_model_external_initializers_file_name": _WEIGHTS,
    "session.optimized_model_external_initializers_min_size_in_bytes": str(_INLINE_BELOW_BYTES),
    "session.save_external_prepacked_constant_initializers": "1",
}


def prepack(graph: Graph, source: Path) -> None:
    """Make the prepacked form of a segment's file, unless it is there.

    What ONNX Runtime cannot save, or the folder cannot take, stays as it is.

    Parameters
    ----------
    source : Path
        The segment's file, beside the graph's weights.
    """
    target = prepacked_path(source)
    if is_intact(target):
        return
    try:
        _make(graph, source, target)
    except OSError as error:
        _log.warning("%s is not prepacked: %s", source.name, error)


def _make(graph: Graph, source: Path, target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=".lay-", dir=source.parent))
    try:
        saved = work / "saved.onnx"
        open_session(str(source), level="all", config=_CONFIG, optimized_path=str(saved))
        content, parts = _stored(graph, parse(saved), work, source.parent)
    except (RuntimeError, MemoryError, ModelError, ValueError) as error:
        _log.info("%s cannot be prepacked: %s", source.name, one_line(error))
        content, parts = b"", []
    finally:
        shutil.rmtree(work, ignore_errors=True)
    write_private(target, sealed(content, source.parent, parts))


def _stored(
    graph: Graph, model: onnx.ModelProto, work: Path, folder: Path
) -> tuple[bytes, list[str]]:
    """The model's bytes, once its weights lie in files of ``folder``, and these files' names."""
    weights = [t for t in tensors_of_model(model) if external_place(t) is not None]
    if weights:
        saved, original = _mapped(work / _WEIGHTS), _mapped(folder / _WEIGHTS)
        for tensor in weights:
            _store(tensor, _Sources(graph, folder, saved, original))
    forget_known_types(model)
    return model.SerializeToString(), external_names(model, folder)


@dataclass(frozen=True)
class _Sources:
    """What weights may come from and where they go."""

    graph: Graph
    folder: Path
    saved: Bytes
    original: Bytes


def _store(tensor: onnx.TensorProto, sources: _Sources) -> None:
    place = _Place.of(tensor)
    content = sources.saved[place.offset : place.offset + place.length]
    if not place.packed and may_be_sizes(tensor.data_type, place.length):
        return put_inside(tensor, content.tobytes())
    if not place.packed:
        known = sources.graph.initializers.get(tensor.name)
        if known is not None and _same(known, content, sources.original):
            return _point(tensor, external_place(known))
    packed = sources.saved[place.packed.start : place.packed.stop].tobytes()
    # Packed first: kernels read it by whole cache lines, and ONNX Runtime aligns nothing.
    start = -(-len(packed) // mmap.PAGESIZE) * mmap.PAGESIZE
    name = _kept(packed.ljust(start, b"\0") + content.tobytes(), sources.folder)
    _point(tensor, (name, start, len(content)))
    if packed:
        tensor.external_data.add(
            key=f"{_PACKED_PREFIX}0", value=f"{place.packed_key}|0;{len(packed)};0"
        )
    return None


def _same(known: onnx.TensorProto, content: Bytes, original: Bytes) -> bool:
    """Whether the graph's own file holds the very same bytes."""
    place = external_place(known)
    if place is None or place[0] != _WEIGHTS or place[2] != len(content):
        return False
    return np.array_equal(original[place[1] : place[1] + len(content)], content)


def _kept(content: bytes, folder: Path) -> str:
    """Name of the file with that content."""
    name = f"weight-{hashlib.blake2b(content, digest_size=16).hexdigest()}.bin"
    if not _holds(folder / name, content):
        write_unchanging(folder / name, content)
    return name


def _holds(path: Path, content: bytes) -> bool:
    try:
        return sum_of(path) == (len(content), _core.checksum(content))
    except OSError:
        return False


def _point(tensor: onnx.TensorProto, place: tuple[str, int, int | None] | None) -> None:
    assert place is not None
    del tensor.external_data[:]
    for key, value in zip(("location", "offset", "length"), place, strict=True):
        tensor.external_data.add(key=key, value=str(value))


@dataclass(frozen=True)
class _Place:
    """Where ONNX Runtime wrote a weight, and its packed form if it is one that we keep."""

    offset: int
    length: int
    packed_key: str = ""
    packed: range = range(0)

    @staticmethod
    def of(tensor: onnx.TensorProto) -> _Place:
        """Read the external data's entries: ``prepacked_0 = KERNEL+HASH|OFFSET;LENGTH;FLAG``."""
        entry = {pair.key: pair.value for pair in tensor.external_data}
        place = _Place(int(entry.get("offset", 0)), int(entry["length"]))
        packed = [value for key, value in entry.items() if key.startswith(_PACKED_PREFIX)]
        if len(packed) != 1:
            return place
        key, _, blocks = packed[0].partition("|")
        numbers = blocks.split(";")
        if len(numbers) != 3 or numbers[2] != "0" or key.partition("+")[0] not in _SAFE_PACKED:
            return place
        start, length = int(numbers[0]), int(numbers[1])
        return _Place(place.offset, place.length, key, range(start, start + length))


def _mapped(path: Path) -> Bytes:
    """A file's bytes, read where they are looked at."""
    if path.stat().st_size == 0:
        return np.empty(0, np.uint8)
    return np.memmap(path, np.uint8, mode="r")
