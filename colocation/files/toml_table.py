"""Strict reading of TOML tables: every key is asked for, every error says where it is."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from surplus.colocation.files.typed_options import LARGEST, WORDS, fits, shown

T = TypeVar("T")

_WORDS = {**WORDS, dict: WORDS[Mapping], list: WORDS[Sequence]}
_REQUIRED = object()


class TomlTable:
    """A table of a file, whose keys are taken one by one.

    Parameters
    ----------
    values : mapping
    where : str
        Its place in the file, for messages.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self.where = where

    def take(self, key: str, kind: type[T], default: Any = _REQUIRED) -> T:
        """Remove a value and return it; an integer passes for a number.

        Raises
        ------
        ValueError
            If it is missing and has no default, is of another type or no number of 64 bits.
        """
        if key not in self._values:
            if default is _REQUIRED:
                raise ValueError(f"{self.where}: {key} is missing")
            return cast(T, default)
        value = self._values.pop(key)
        if not (isinstance(value, kind) if kind in (dict, list) else fits(value, kind)):
            raise ValueError(f"{self.where}: {key} must be {_WORDS[kind]}, got {shown(value)}")
        return cast(T, float(value) if kind is float else value)

    def table(self, key: str, default: Any = _REQUIRED) -> TomlTable:
        """Remove a table of this one."""
        return TomlTable(self.take(key, dict, default), f"{self.where}, {key}")

    def optional(self, key: str) -> TomlTable | None:
        """Remove a table of this one; None if there is none."""
        return self.table(key) if key in self else None

    def tables(self, key: str, default: Any = _REQUIRED) -> list[TomlTable]:
        """Remove a list of tables, at least one unless there is a default."""
        values = self.take(key, list, default)
        if values == default:
            return []
        if not values or not all(isinstance(value, dict) for value in values):
            raise ValueError(f"{self.where}: {key} must be a list of tables, at least one")
        return [TomlTable(value, f"{self.where}, {key} {k}") for k, value in enumerate(values, 1)]

    def integers(self, key: str, default: tuple[int, ...], least: int) -> tuple[int, ...]:
        """Remove a list of integers, each at least ``least``."""
        values = self.take(key, list, list(default))
        for value in values or [None]:
            if not fits(value, int) or value < least:
                raise ValueError(
                    f"{self.where}: {key} must be integers >= {least}, got {shown(values)}"
                )
        return tuple(values)

    def time_ns(self, key: str, unit_ns: int, least_ns: int = 0) -> int:
        """Remove a time in some unit, in nanoseconds at least ``least_ns``."""
        value = self.take(key, float)
        if not 0 <= value * unit_ns < LARGEST or round(value * unit_ns) < least_ns:
            least = f"{least_ns / unit_ns:g}"
            raise ValueError(f"{self.where}: {key} must be >= {least} and finite, got {value}")
        return round(value * unit_ns)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def rest(self) -> dict[str, Any]:
        """Remove and return all that is left."""
        values, self._values = self._values, {}
        return values

    def done(self) -> None:
        """Check that nothing is left.

        Raises
        ------
        ValueError
            Naming the keys that nobody asked for.
        """
        if self._values:
            raise ValueError(f"{self.where}: unknown key {', '.join(sorted(self._values))}")


def read_table(path: Path) -> TomlTable:
    """Read a TOML file.

    Raises
    ------
    ValueError
        If it is none; the message names it.
    OSError
        If it cannot be read.
    """
    try:
        return TomlTable(tomllib.loads(path.read_text(encoding="utf-8-sig")), str(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
