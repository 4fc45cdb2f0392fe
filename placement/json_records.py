"""Frozen dataclasses from JSON, strictly: every mismatch names its place.

One reader for problems, profiles and plans, so that their errors read alike and no file of a
wrong type passes for one with odd values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_document(
    kind: type[T], text: str, formats: Collection[str], what: str, least: int | None = None
) -> T:
    """Read a JSON object that says its format as the dataclass ``kind``.

    Parameters
    ----------
    kind : type
        As for ``read_record``.
    formats : collection of str
        What its field ``format`` may say, the newest first.
    what : str
        What it is, for errors: ``problem``.
    least : int, optional
        No whole number in it may be less.

    Raises
    ------
    ValueError
        If it is not JSON, of another format, or not what ``read_record`` takes.
    """
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{what}: not JSON: {error}") from error
    if not isinstance(raw, dict) or raw.pop("format", None) not in formats:
        raise ValueError(f"{what}: field 'format' must be {next(iter(formats))!r}")
    return read_record(kind, raw, what, least)


def read_record(kind: type[T], row: Any, where: str, least: int | None = None) -> T:
    """Build the dataclass ``kind`` from a JSON object.

    Parameters
    ----------
    kind : type
        Its fields are plain types, StrEnums and such dataclasses, tuples of any number of these,
        mappings to these by text or whole number, and unions of these with None.
    row : object
        As ``json.loads`` returned it.
    where : str
        Name of the place for errors: ``problem.tasks[3]``.
    least : int, optional
        No whole number in it may be less.

    Raises
    ------
    ValueError
        Naming the field that is missing, unknown, of a wrong type or out of range.
    """
    record: T = _Reader(least).record(kind, row, where)
    return record


class _Reader(NamedTuple):
    least: int | None

    def record(self, kind: Any, raw: Any, where: str) -> Any:
        row = _checked(dict, raw, where)
        known = _fields_of(kind)
        for name in row:
            if name not in known:
                raise ValueError(f"{where}: field {name!r} is unknown")
        for name, (_, is_needed) in known.items():
            if is_needed and name not in row:
                raise ValueError(f"{where}: field {name!r} is missing")
        values = {}
        for name, v in row.items():
            hint = known[name][0]
            values[name] = v if self.fits(hint, v) else self.value(hint, v, f"{where}.{name}")
        try:
            return kind(**values)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error

    def fits(self, kind: Any, raw: Any) -> bool:
        """Whether it can be taken as it is: for most values, whose place needs no name then."""
        return type(raw) is kind and (kind is not int or self.least is None or raw >= self.least)

    def value(self, kind: Any, raw: Any, where: str) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is UnionType:
            (inner,) = (argument for argument in arguments if argument is not NoneType)
            return None if raw is None else self.value(inner, raw, where)
        if origin is tuple:
            rows = _checked(list, raw, where)
            inner = arguments[0]
            return tuple(
                v if self.fits(inner, v) else self.value(inner, v, f"{where}[{i}]")
                for i, v in enumerate(rows)
            )
        if origin is Mapping:
            rows = _checked(dict, raw, where)
            return {
                _key(arguments[0], key, where): self.value(arguments[1], v, f"{where}[{key!r}]")
                for key, v in rows.items()
            }
        if is_dataclass(kind):
            return self.record(kind, raw, where)
        return self._plain(kind, raw, where)

    def _plain(self, kind: type, raw: Any, where: str) -> Any:
        if kind is float and type(raw) is int:
            return float(raw)
        if issubclass(kind, StrEnum):
            if raw not in list(kind):
                raise ValueError(f"{where} must be one of {', '.join(kind)}, got {raw!r:.60}")
            return kind(raw)
        _checked(kind, raw, where)
        if kind is int and self.least is not None and raw < self.least:
            raise ValueError(f"{where} must be >= {self.least}, got {raw}")
        return raw


@cache
def _fields_of(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Type of each field, and whether a record must have it."""
    hints = get_type_hints(kind)
    return {field.name: (hints[field.name], _is_needed(field)) for field in fields(kind)}


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _key(kind: type, key: str, where: str) -> str | int:
    if kind is str:
        return key
    if not key.isdecimal():
        raise ValueError(f"{where}: key {key!r} must be a whole number")
    return int(key)


def _checked(kind: type, raw: Any, where: str) -> Any:
    if type(raw) is not kind:
        raise ValueError(f"{where} must be {_NAMES[kind]}, got {raw!r:.60}")
    return raw


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
