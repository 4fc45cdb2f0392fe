"""The user's model as it came, beside its prepared form: what one session of it runs from.

ONNX Runtime optimises the prepared form otherwise than the file that it was made of: a residual sum
and the LayerNormalization behind it become one operator in one of them and two in the other, which
rounds otherwise. So the whole model in one session runs from what the user gave. Constants that are
the same in both forms are stored once.
"""

from __future__ import annotations

import logging
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path

import onnx

from surplus.engine.dfg.constants import external_place, tensors_of_model
from surplus.engine.dfg.plain_model import Known, Place, store_plain
from surplus.engine.dfg.stored_files import GIVEN_FILE, GIVEN_WEIGHTS_FILE, WEIGHTS_FILE
from surplus.engine.errors import one_line
from surplus.engine.native import open_session

_log = logging.getLogger(__name__)


def store_given(
    model: onnx.ModelProto,
    source_folder: Path,
    prepared: onnx.ModelProto,
    folder: Path,
    min_bytes: int,
) -> None:
    """Write a model beside the prepared form of it, unless ONNX Runtime would not load that.

    Parameters
    ----------
    model : onnx.ModelProto
        To be stored as it is.
    source_folder : Path
        Where its external data lies now.
    prepared : onnx.ModelProto
        Whose constants lie in ``folder`` already.
    min_bytes : int
        Constants below this size stay inside.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    """
    file, weights = folder / GIVEN_FILE, folder / GIVEN_WEIGHTS_FILE
    with _mapped(folder / WEIGHTS_FILE) as stored:
        places = _places(prepared)
        plain = store_plain(model, source_folder, weights, min_bytes, _known(places, stored))
    file.write_bytes(plain.SerializeToString())
    try:
        open_session(str(file), level="disable_all")
    except (RuntimeError, MemoryError) as error:
        _log.info("%s does not load: %s", file.name, one_line(error, 500))
        file.unlink()
        weights.unlink()


def _places(prepared: onnx.ModelProto) -> dict[str, Place]:
    found = {}
    for tensor in tensors_of_model(prepared):
        place = external_place(tensor)
        if place is not None and place[0] == WEIGHTS_FILE and place[2] is not None:
            found[tensor.name] = (WEIGHTS_FILE, place[1], place[2])
    return found


def _known(places: Mapping[str, Place], stored: memoryview) -> Known:
    def known(name: str, chunks: Iterable[bytes]) -> Place | None:
        """Where the very same bytes lie, if they are there under this name."""
        place = places.get(name)
        if place is None:
            return None
        _, begin, length = place
        at = begin
        for chunk in chunks:
            if stored[at : min(at + len(chunk), begin + length)] != chunk:
                return None
            at += len(chunk)
        return place if at == begin + length else None

    return known


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
