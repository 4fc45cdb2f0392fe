"""ONNX files that prove themselves and the files of weights that they refer to.

A sealed file ends with one more entry of its ``metadata_props``, which any reader of ONNX takes for
what it is: sizes and checksums of the other files, and a checksum of all that comes before it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from surplus.engine import _core
from surplus.engine.cache.private import read_private
from surplus.engine.cache.proven_files import FileSum, keep_notes, sum_of

_log = logging.getLogger(__name__)

_KEY = b"surplus.seal"
_METADATA_PROPS = 14
"""Number of the field in onnx.proto's ModelProto."""

_LENGTH_DIGITS, _SUM_DIGITS = 8, 16
"""The entry's value ends with its own length and the checksum of all before that, hexadecimal."""


class DamagedFileError(OSError):
    """The file is not what was written; never leaves the cache's own code."""


def sealed(content: bytes, folder: Path, parts: Iterable[str] = ()) -> bytes:
    """A serialised model and its seal.

    Parameters
    ----------
    parts : iterable of str
        Names of the files in ``folder`` that hold its external data.

    Raises
    ------
    OSError
        If one cannot be read.
    """
    sums = {name: sum_of(folder / name) for name in parts}
    text = json.dumps(sums).encode()
    entry = _entry(text + bytes(_LENGTH_DIGITS + _SUM_DIGITS))
    proven = content + entry[: -_LENGTH_DIGITS - _SUM_DIGITS] + b"%08x" % len(entry)
    return proven + b"%016x" % _core.checksum(proven)


def read_sealed(path: Path) -> bytes:
    """The model without its seal.

    Raises
    ------
    OSError
        If it cannot be read, or others could have written it.
    DamagedFileError
        If it is not what was written.
    """
    return _opened(path)[0]


def is_intact(path: Path) -> bool:
    """Whether a sealed file is there, and it and its parts are what was written.

    What is there and is not goes to the log.
    """
    return read_intact(path) is not None


def read_intact(path: Path) -> bytes | None:
    """The model without its seal, of a file that ``is_intact``; else None."""
    try:
        model = _checked(path)
    except FileNotFoundError as error:
        if error.filename == str(path):
            return None
        _log.warning("%s is made again: %s is missing", path, error.filename)
        return None
    except OSError as error:
        _log.warning("%s is made again: %s", path, error)
        return None
    keep_notes(path.parent)
    return model


def _checked(path: Path) -> bytes:
    model, parts = _opened(path)
    for name, expected in parts.items():
        if sum_of(path.with_name(name)) != expected:
            raise DamagedFileError(f"{name} is damaged")
    return model


def _opened(path: Path) -> tuple[bytes, dict[str, FileSum]]:
    data = read_private(path)
    proven, checksum = data[:-_SUM_DIGITS], data[-_SUM_DIGITS:]
    if checksum != b"%016x" % _core.checksum(proven):
        raise DamagedFileError(f"{path.name} is damaged")
    length = int(proven[-_LENGTH_DIGITS:], 16)
    text = data[-length:].partition(_KEY)[2]
    parts = json.loads(text[text.index(b"{") : -_LENGTH_DIGITS - _SUM_DIGITS])
    return data[:-length], {name: FileSum(*known) for name, known in parts.items()}


def _entry(value: bytes) -> bytes:
    """``metadata_props { key: _KEY value: ... }`` as protobuf writes it."""
    pair = _field(1, _KEY) + _field(2, value)
    return _field(_METADATA_PROPS, pair)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    digits = []
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
