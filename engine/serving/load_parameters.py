"""What a client may say beside the name of a model that it has loaded or unloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine.errors import InputError, UnsupportedError

_DEPENDENTS = "unload_dependents"


def check_load_parameters(model: str, values: Mapping[str, Any]) -> None:
    """Refuse what would make another model of it.

    Raises
    ------
    UnsupportedError
        If a configuration or files are given.
    InputError
        If there is no parameter of that name.
    """
    for name in values:
        if name == "config" or name.startswith("file:"):
            raise UnsupportedError(
                f"model {model!r}: parameter {name!r} is not supported: models are loaded as they "
                "were at the server's start"
            )
        raise InputError(f"model {model!r}: unknown parameter {name!r}; there are config, file:...")


def check_unload_parameters(model: str, values: Mapping[str, Any]) -> None:
    """Refuse what is not known: no model depends on another.

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
