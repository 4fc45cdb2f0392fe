"""What ``forward`` returns, as named tensors: a tensor, or lists, tuples and dicts of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from surplus.engine.errors import ConversionError


def flatten(returned: Any, tensor_type: type) -> list[tuple[str, Any]]:
    """Every tensor with a name for it, in the order in which exporters number them.

    Names are keys of dicts and positions in lists, joined by ``_``; absent ones (None) are left
    out, as exporters do.

    Raises
    ------
    ConversionError
        If there is no tensor, or something else than tensors.
    """
    found = list(_leaves(returned, tensor_type, ()))
    if not found:
        raise ConversionError("forward returns no tensor")
    if len(found) == 1 and not found[0][0]:
        return [("output", found[0][1])]
    return [(_name(path), tensor) for path, tensor in found]


def distinct(names: list[str], taken: Collection[str]) -> list[str]:
    """The names, changed where they are ``taken`` or occur before."""
    used, made = set(taken), []
    for name in names:
        while name in used:
            name += "_out"
        used.add(name)
        made.append(name)
    return made


def _leaves(
    value: Any, tensor_type: type, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, tensor_type):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, tensor_type, (*path, str(key)))
    elif isinstance(value, list | tuple):
        # Named tuples know what their items are called.
        labels = getattr(value, "_fields", None) or map(str, range(len(value)))
        for label, item in zip(labels, value, strict=True):
            yield from _leaves(item, tensor_type, (*path, label))
    elif value is not None:
        raise ConversionError(
            f"forward returns something of type {type(value).__name__}{_place(path)}; ONNX has a"
            " form for tensors, and for lists, tuples and dicts of them"
        )


def _place(path: tuple[str, ...]) -> str:
    return f" at {'.'.join(path)}" if path else ""


def _name(path: tuple[str, ...]) -> str:
    text = re.sub(r"\W", "_", "_".join(path))
    return text if text[:1].isalpha() else f"output_{text}"
