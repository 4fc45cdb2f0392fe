"""Checks options that come from files against the annotations of what they are options of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_type_hints

from surplus.placement.records import check_numbers, read_value

_MOST_SHOWN = 100


def checked_options(factory: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as values of the types that a factory's parameters have.

    Options that it has no parameter for are left to the factory.

    Raises
    ------
    ValueError
        Naming the option, what it must be and what it is.
    """
    hints = _hints(factory)
    return {
        name: _checked(hints[name], value, name) if name in hints else value
        for name, value in options.items()
    }


def shown(value: Any) -> str:
    """A wrong value, for a message: its beginning if it is long."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _checked(hint: Any, value: Any, name: str) -> Any:
    check_numbers(value, name)
    try:
        return read_value(hint, value, name)
    except ValueError as error:
        raise ValueError(f"{error}, {shown(value)}") from error


@cache
def _hints(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """Types of a function's parameters, or of those that make a class."""
    made_by = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    return get_type_hints(made_by)
