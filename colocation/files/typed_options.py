"""Checks options that come from files against the annotations of what they are options of."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, Union, get_args, get_origin, get_type_hints

LARGEST = 2**62
"""Integers are below; so sums of a few of them fit into 64 bits."""

_MOST_SHOWN = 100
WORDS = {
    bool: "true or false",
    int: "an integer below 2^62",
    float: "a finite number",
    str: "a string",
    Sequence: "a list",
    Mapping: "a table",
}


def check_options(factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse values of other types than a factory's parameters have.

    Options that it has no parameter for, and annotations of other kinds than TOML has values,
    are left to the factory.

    Raises
    ------
    ValueError
        Naming the option, what it must be and what it is.
    """
    hints = _hints(factory)
    for name, value in options.items():
        if name in hints and not fits(value, hints[name]):
            raise ValueError(f"{name} must be {_words(hints[name])}, got {shown(value)}")


def shown(value: Any) -> str:
    """A wrong value, for a message: its beginning if it is long."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


@cache
def _hints(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """Types of a function's parameters, or of those that make a class."""
    made_by = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    return get_type_hints(made_by)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is one of an annotation's; numbers are finite and of 64 bits."""
    own, inner = get_origin(hint) or hint, get_args(hint)
    if own in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if own is types.NoneType:
        return value is None
    if own is float and isinstance(value, float):
        return isfinite(value)
    if own in (int, float):
        return _is_integer(value) and abs(value) < LARGEST
    if own in (Sequence, tuple):
        is_list = isinstance(value, list | tuple)
        return is_list and all(fits(one, inner[0]) for one in value)
    if own is Mapping:
        return isinstance(value, Mapping) and all(fits(one, inner[1]) for one in value.values())
    return isinstance(value, own) if own in (bool, str) else True


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(hint: Any) -> str:
    """``Sequence[int]`` becomes "a list, each an integer below 2^62"."""
    own, inner = get_origin(hint) or hint, get_args(hint)
    if own in (Union, types.UnionType):
        return " or ".join(_words(one) for one in inner if one is not types.NoneType)
    if own in (Sequence, Mapping):
        return f"{WORDS[own]}, each {_words(inner[-1])}"
    if own is tuple:
        return f"{WORDS[Sequence]}, each {_words(inner[0])}"
    return WORDS.get(own, str(hint))
