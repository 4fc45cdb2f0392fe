"""A configuration as a JSON document, as Triton's REST answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def document_of(message: Any) -> dict[str, Any]:
    """Every field under its name: those without a value, too, but for messages and choices."""
    return {
        field.name: _plain(field, getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
        if not field.has_presence or message.HasField(field.name)
    }


def _plain(field: Any, value: Any) -> Any:
    if isinstance(value, Mapping) or hasattr(value, "items"):
        inner = field.message_type.fields_by_name["value"]
        return {str(key): _one(inner, value[key]) for key in value}
    if hasattr(value, "extend"):
        return [_one(field, item) for item in value]
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return document_of(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return value
