"""A scenario's document as the text of a TOML file."""

from __future__ import annotations

import json
from typing import Any

from surplus.colocation.families.family import Document

_ARRAYS = ("device", "service", "change")


def toml_text(document: Document) -> str:
    """Tables as they stand in scenario files: a header a device, service and change."""
    plain = {k: v for k, v in document.items() if not isinstance(v, dict) and k not in _ARRAYS}
    parts = ["".join(f"{key} = {_value(value)}\n" for key, value in plain.items())]
    for key in _ARRAYS:
        for row in document.get(key, ()):
            parts.append(f"[[{key}]]\n" + _lines(row))
    for key, value in document.items():
        if isinstance(value, dict):
            parts.append(f"[{key}]\n" + _lines(value))
    return "\n".join(parts)


def _lines(table: Document) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    """Strings, numbers and truths are as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)


def _key(key: str) -> str:
    return key if key.replace("_", "").isalnum() else json.dumps(key)
