"""Strict reading of TOML tables: every key is asked for, every error says where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")

_WORDS = {
    int: "an integer",
    float: "a number",
    str: "a string",
    dict: "a table",
    list: "a list",
}
_REQUIRED = object()


class Table:
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
            If it is missing and has no default, or is of another type.
        """
        if key not in self._values:
            if default is _REQUIRED:
                raise ValueError(f"{self.where}: {key} is missing")
            return cast(T, default)
        value = self._values.pop(key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{self.where}: {key} must be {_WORDS[kind]}, got {value!r}")
        return value

    def table(self, key: str, default: Any = _REQUIRED) -> Table:
        """Remove a table of this one."""
        return Table(self.take(key, dict, default), f"{self.where}, {key}")

    def optional(self, key: str) -> Table | None:
        """Remove a table of this one; None if there is none."""
        return self.table(key) if key in self._values else None

    def tables(self, key: str, default: Any = _REQUIRED) -> list[Table]:
        """Remove a list of tables, at least one unless there is a default."""
        values = self.take(key, list, default)
        if values == default:
            return []
        if not values or not all(isinstance(value, dict) for value in values):
            raise ValueError(f"{self.where}: {key} must be a list of tables, at least one")
        return [Table(value, f"{self.where}, {key} {k}") for k, value in enumerate(values, 1)]

    def integers(self, key: str, default: tuple[int, ...], least: int) -> tuple[int, ...]:
        """Remove a list of integers, each at least ``least``."""
        values = self.take(key, list, list(default))
        for value in values or [None]:
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{self.where}: {key} must be integers >= {least}, got {values}")
        return tuple(values)

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
