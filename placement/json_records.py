"""Dataclasses from parsed JSON, with an error that names the place of every fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_record(kind: type[T], row: Any, where: str) -> T:
    """Build the dataclass ``kind`` from a JSON object.

    Parameters
    ----------
    kind : type
        Its fields are int, float, str, bool, None, unions and tuples of these.
    row : object
        As ``json.loads`` returned it.
    where : str
        Name of the place for errors, for example ``tasks[3]``.

    Raises
    ------
    ValueError
        Naming the field that is missing, unknown, of a wrong type or out of range.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: expected an object, got {row!r}")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in row:
        if name not in known:
            raise ValueError(f"{where}: field {name!r} is unknown")
    for name, field in known.items():
        if name not in row and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where}: field {name!r} is missing")
    hints = get_type_hints(kind)
    values = {name: _value(hints[name], value, f"{where}.{name}") for name, value in row.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list, got {value!r}")
        (item, _) = get_args(hint)
        return tuple(_value(item, v, f"{where}[{i}]") for i, v in enumerate(value))
    allowed = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    if type(value) in allowed:
        return value
    if float in allowed and type(value) is int:
        return float(value)
    wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in allowed)
    raise ValueError(f"{where}: expected {wanted}, got {value!r}")
