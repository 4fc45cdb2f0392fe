"""Tensors that a model's configuration describes: zeros, or bytes of the protocol in a file."""

from __future__ import annotations

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.repository.config_message import enum_name
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.codec import decode_raw
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.servable import Array

_NAMES = {kind.config_name: name for name, kind in DATATYPES.items()}


def datatype_named_by(config: ModelConfig, at: str, number: int) -> str:
    """The protocol's name of a configuration's ``data_type``.

    Raises
    ------
    ConfigError
        If it is not written, or none that the protocol has.
    """
    name = _NAMES.get(enum_name("DataType", number))
    if name is None:
        raise config.lines.wrong(at, "is missing, or none that can be given")
    return name


def zeros(datatype: str, shape: tuple[int, ...]) -> Array:
    """Zeros; empty strings."""
    if datatype == "BYTES":
        return np.full(shape, b"", np.object_)
    return np.zeros(shape, DATATYPES[datatype].dtype)


def read_values(
    config: ModelConfig,
    at: str,
    name: str,
    file: tuple[str, str],
    datatype: str,
    shape: tuple[int, ...],
) -> Array:
    """Read a tensor from a file.

    Parameters
    ----------
    file : (str, str)
        The folder in the model's, and the file in that.

    Raises
    ------
    ConfigError
        If it cannot be read, lies elsewhere, or does not hold so many values.
    """
    folder = config.lines.file.parent / file[0]
    path = folder / file[1]
    if not path.resolve().is_relative_to(folder.resolve()):
        raise config.lines.wrong(at, f"{file[1]!r} is not within {folder}")
    try:
        return decode_raw(name, datatype, shape, path.read_bytes())
    except OSError as error:
        raise config.lines.wrong(at, f"{path}: {error.strerror}") from error
    except InputError as error:
        raise config.lines.wrong(at, f"{path}: {error}") from error
