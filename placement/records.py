"""Frozen dataclasses from JSON and TOML, strictly: every mismatch names its place.

One reader for problems, profiles, plans and scenarios, so that their errors read alike and no
file of a wrong type passes for one with odd values.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any, TypeVar

T = TypeVar("T")

_CONVERTING = threading.Lock()
"""msgspec (0.22) reads what it knows of a dataclass while another thread still writes it."""

_END = 2**62
"""Integers are below; so sums of a few of them fit into 64 bits."""


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
    import msgspec  # a first start has nothing to read and does not wait for it

    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what}: not JSON: {error}") from error
    return read_formatted(kind, raw, formats, what, least)


def read_formatted(
    kind: type[T], raw: Any, formats: Collection[str], what: str, least: int | None = None
) -> T:
    """``read_document`` of what was decoded already."""
    if not isinstance(raw, dict) or raw.get("format") not in formats:
        raise ValueError(f"{what}: field 'format' must be {next(iter(formats))!r}")
    own = {key: value for key, value in raw.items() if key != "format"}
    return read_record(kind, own, what, least)


def read_record(kind: type[T], raw: Any, where: str, least: int | None = None) -> T:
    """Build the dataclass ``kind`` from an object of JSON or a table of TOML.

    Parameters
    ----------
    kind : type
        A dataclass; its fields are of types that msgspec knows.
    raw : object
        Plain values, as a decoder returned them.
    where : str
        Name of the place for errors: ``problem.tasks[3]``.
    least : int, optional
        No whole number in it may be less.

    Raises
    ------
    ValueError
        Naming the field that is missing, unknown, of a wrong type or out of range.
    """
    record: T = read_value(kind, raw, where)
    _check(record, raw, where, least)
    return record


def read_value(hint: Any, raw: Any, where: str) -> Any:
    """Read plain values as what an annotation says; fields that it does not name are passed over.

    Raises
    ------
    ValueError
        Naming the place below ``where`` that does not fit.
    """
    import msgspec

    try:
        with _CONVERTING:
            return msgspec.convert(raw, hint, str_keys=True)
    except (ValueError, RecursionError) as error:
        text, _, place = str(error).partition(" - at `$")
        raise ValueError(f"{where}{place.rstrip('`')}: {text[:1].lower()}{text[1:]}") from error


def check_numbers(raw: Any, where: str) -> None:
    """Refuse numbers that no count, size or time is.

    Raises
    ------
    ValueError
        Naming the first that is infinite or not of 63 bits.
    """
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            check_numbers(value, f"{where}.{key}")
    elif isinstance(raw, list | tuple):
        for place, value in enumerate(raw):
            check_numbers(value, f"{where}[{place}]")
    elif isinstance(raw, float) and not isfinite(raw):
        raise ValueError(f"{where} must be finite, got {raw}")
    elif isinstance(raw, int) and abs(raw) >= _END:
        raise ValueError(f"{where} must be below 2^62, got {raw!s:.40}")


def _check(record: Any, raw: Any, where: str, least: int | None) -> None:
    """What msgspec does not look for: fields that a dataclass has not, and the least number."""
    if record is raw and least is None:
        return  # of no declared type: whoever reads it looks at it
    if is_dataclass(record):
        known = {field.name for field in fields(record)}
        for name, value in raw.items():
            if name not in known:
                raise ValueError(f"{where}: field {name!r} is unknown")
            _check(getattr(record, name), value, f"{where}.{name}", least)
    elif isinstance(record, Mapping):
        for key, value in raw.items():
            own = record[key] if key in record else record[int(key)]
            _check(own, value, f"{where}[{key!r}]", least)
    elif isinstance(record, list | tuple):
        for place, (own, value) in enumerate(zip(record, raw, strict=True)):
            _check(own, value, f"{where}[{place}]", least)
    elif least is not None and type(record) is int and record < least:
        raise ValueError(f"{where} must be >= {least}, got {record}")
