"""Bodies of requests that are a JSON object, or nothing."""

from __future__ import annotations

import json
from typing import Any

from surplus.engine.errors import InputError


def document_of(body: bytes) -> dict[str, Any]:
    """The object of a body; an empty one where there is no body.

    Raises
    ------
    InputError
        If it is no JSON object.
    """
    if not body.strip():
        return {}
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("malformed request: not a JSON object") from None
    if type(document) is not dict:
        raise InputError("malformed request: not a JSON object")
    return document
