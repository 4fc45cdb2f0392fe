"""The path of a model, absolute, which is UTF-8: ONNX Runtime, plans and logs take no other."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from surplus.engine.errors import ModelError


def utf8_path(path: str | PathLike[str]) -> Path:
    """The absolute path.

    Raises
    ------
    ModelError
        If it cannot be written as UTF-8, as Python's locale reads it.
    """
    absolute = Path(path).absolute()
    try:
        str(absolute).encode()
    except UnicodeEncodeError:
        text = f"{str(path)!a}: the path is not UTF-8; rename it, or set PYTHONUTF8=1"
        raise ModelError(text) from None
    return absolute
