"""Reads a TOML file as the dataclass that says what is in it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from surplus.placement.records import check_numbers, read_record

T = TypeVar("T")


def read_toml(kind: type[T], path: Path) -> T:
    """Read a file.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are the file's keys; see ``read_record``.

    Raises
    ------
    ValueError
        If it is not TOML, or a key is unknown, missing or of a wrong type; names file and key.
    OSError
        If it cannot be read.
    """
    try:
        raw: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        check_numbers(raw, "")
        return read_record(kind, raw, "")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {str(error).lstrip('.: ')}") from error
