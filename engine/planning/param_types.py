"""Types of parameters that users give, checked where they enter."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from surplus.engine.errors import ConfigError

_KINDS: dict[str, tuple[type, str]] = {
    "float": (numbers.Real, "a number"),
    "int": (numbers.Integral, "a whole number"),
    "bool": (bool, "True or False"),
    "str": (str, "text"),
    "Path": (os.PathLike, "a path"),
    "Mapping[str, Any]": (Mapping, "a mapping"),
    "Sequence[str]": (Sequence, "a sequence of text"),
}
"""By annotation: what a value must be, and how that is called."""

_EXAMPLES = {"devices": "text such as 'cpu:2'"}


def check_types(params: Any) -> None:
    """Refuse fields of a dataclass whose values are of another type than they say.

    Numbers of numpy are numbers; True and False are none.

    Raises
    ------
    ConfigError
        Naming the first one, and what it must be.
    """
    for field in fields(params):
        kind, _, rest = str(field.type).partition(" | ")
        if kind not in _KINDS:
            continue
        value = getattr(params, field.name)
        if value is None and rest == "None":
            continue
        wanted, name = _KINDS[kind]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            name = _EXAMPLES.get(field.name, name)
            raise ConfigError(f"{field.name} must be {name}, got {value!r}")
