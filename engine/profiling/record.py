"""JSON to frozen dataclasses, strictly: every mismatch names the field."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from engine.errors import ProfileError


def check_format(text: str, name: str) -> dict[str, Any]:
    """Parse an object whose field ``format`` says ``name``; that field is taken out.

    Raises
    ------
    ProfileError
        If it is not JSON, no object, or of another format.
    """
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ProfileError(f"not JSON: {error}") from error
    if not isinstance(raw, dict) or raw.pop("format", None) != name:
        raise ProfileError(f"field 'format' must be {name!r}")
    return raw


def decode(kind: Any, raw: Any, where: str) -> Any:
    """``raw`` as ``kind``: a dataclass, tuple, mapping, union with None, or a plain type.

    Raises
    ------
    ProfileError
        Naming the place where ``raw`` does not fit.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return _record(kind, raw, where)
    if origin is tuple:
        rows = _of(list, raw, where)
        return tuple(decode(arguments[0], row, f"{where}[{i}]") for i, row in enumerate(rows))
    if origin is Mapping:
        rows = _of(dict, raw, where)
        return {
            _key(arguments[0], key, where): decode(arguments[1], row, f"{where}[{key!r}]")
            for key, row in rows.items()
        }
    if origin in (types.UnionType, typing.Union):
        inner = next(a for a in arguments if a is not types.NoneType)
        return None if raw is None else decode(inner, raw, where)
    return _of(kind, raw, where)


def _record(kind: Any, raw: Any, where: str) -> Any:
    row = _of(dict, raw, where)
    hints = typing.get_type_hints(kind)
    known = {f.name for f in fields(kind)}
    for name in row:
        if name not in known:
            raise ProfileError(f"{where}: field {name!r} is unknown")
    for f in fields(kind):
        if f.name not in row and f.default is MISSING and f.default_factory is MISSING:
            raise ProfileError(f"{where}: field {f.name!r} is missing")
    try:
        return kind(**{n: decode(hints[n], value, f"{where}.{n}") for n, value in row.items()})
    except ValueError as error:
        raise ProfileError(f"{where}: {error}") from error


def _key(kind: Any, key: str, where: str) -> Any:
    if kind is not int:
        return key
    if not key.isdecimal():
        raise ProfileError(f"{where}: key {key!r} must be a whole number")
    return int(key)


def _of(kind: type, raw: Any, where: str) -> Any:
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if not isinstance(raw, kind) or (kind is int and isinstance(raw, bool)):
        raise ProfileError(f"{where} must be {_NAMES.get(kind, kind.__name__)}, got {raw!r:.60}")
    if isinstance(raw, int) and raw < 0:
        raise ProfileError(f"{where} must be >= 0, got {raw}")
    return raw


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
