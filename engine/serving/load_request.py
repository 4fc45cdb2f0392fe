"""What a client may say beside the name of a model that it has loaded or unloaded."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from surplus.engine.errors import InputError

_CONFIG = "config"
_FILE = "file:"
_DEPENDENTS = "unload_dependents"


@dataclass(frozen=True)
class Override:
    """What a model is loaded with in place of what its folder holds.

    Parameters
    ----------
    config : str
        A configuration as JSON.
    files : mapping of str to bytes
        By their path in the model's folder, as ``1/model.onnx``; where there are any, the folder's
        own are not read.
    """

    config: str
    files: Mapping[str, bytes] = field(default_factory=dict)


def override_of(model: str, values: Mapping[str, Any]) -> Override | None:
    """What the parameters of a load say; None if nothing.

    Parameters
    ----------
    values : mapping
        By name. Contents of files are bytes, or text of base64, as REST has them.

    Raises
    ------
    InputError
        If there is no parameter of that name, a value is of another kind, or there are files and
        no configuration, which would not fit the folder's.
    """
    files = {}
    for name, value in values.items():
        if name.startswith(_FILE):
            files[_path(model, name)] = _content(model, name, value)
        elif name != _CONFIG:
            raise InputError(
                f"model {model!r}: unknown parameter {name!r}; there are config, file:..."
            )
        elif not isinstance(value, str):
            raise InputError(f"model {model!r}: parameter 'config' must be a string of JSON")
    if _CONFIG not in values:
        if files:
            raise InputError(f"model {model!r}: files need a configuration: parameter 'config'")
        return None
    return Override(values[_CONFIG], files)


def wants_dependents(model: str, values: Mapping[str, Any]) -> bool:
    """Whether an unload is of the models, too, that an ensemble is made of.

    Raises
    ------
    InputError
        If there is no parameter of that name, or its value is not true or false.
    """
    for name, value in values.items():
        if name != _DEPENDENTS:
            raise InputError(f"model {model!r}: unknown parameter {name!r}; there is {_DEPENDENTS}")
        if type(value) is not bool:
            raise InputError(f"model {model!r}: {_DEPENDENTS} must be true or false")
    return bool(values.get(_DEPENDENTS, False))


def _path(model: str, name: str) -> str:
    path = PurePosixPath(name.removeprefix(_FILE))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise InputError(f"model {model!r}: parameter {name!r}: no path within the model's folder")
    return str(path)


def _content(model: str, name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise InputError(f"model {model!r}: parameter {name!r}: no base64: {error}") from error
    raise InputError(f"model {model!r}: parameter {name!r} must be bytes, in JSON base64")
