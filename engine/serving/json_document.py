"""JSON of requests and answers whose numbers no Python object is made for.

The core takes arrays of numbers out of a request before it is parsed, and writes those of an
answer: sooner, in a quarter of the memory, and without the GIL, so that others are answered
meanwhile. What stays is parsed as ever, and is bounded, since nobody is answered then.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from surplus.engine import _core
from surplus.engine.errors import InputError
from surplus.engine.serving.json_values import encode_json, encode_numbers
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.servable import Array
from surplus.engine.serving.value_costs import document_bytes, numbers_bytes

MOST_BYTES = 4 << 20
"""Of a document without its numbers: parsing it takes some 50 ms."""

_FEWEST = 16
_MARK = secrets.token_hex(16) + ":"
"""Stands for numbers. Nobody outside knows it."""


class JsonDocument:
    """A request's document.

    Parameters
    ----------
    text : bytes
        As it came.
    share : MemoryShare, optional
        Counts what is made of it, before it is made.

    Attributes
    ----------
    value : object
        What it holds; texts of our own stand for arrays of numbers.

    Raises
    ------
    InputError
        If it is no JSON, or too large without its numbers.
    MemoryLimitError
        If the server has no room for its values.
    """

    def __init__(self, text: bytes, share: MemoryShare | None = None) -> None:
        if share is not None:
            share.take(numbers_bytes(text), "the request's numbers")
        rest, self._numbers = _core.take_json_numbers(text, _MARK, _FEWEST)
        if len(rest) > MOST_BYTES:
            raise InputError(
                f"the request's JSON is {len(rest)} bytes without arrays of numbers, at most"
                f" {MOST_BYTES} are taken: send tensors as binary data"
            )
        if share is not None:
            share.take(document_bytes(rest), "the request's values")
        try:
            self.value = json.loads(rest)
        except (ValueError, RecursionError) as error:
            raise InputError(f"malformed request: not JSON: {error}") from None

    def data(self, value: Any) -> Any:
        """The array that a member stands for, or the member itself."""
        if type(value) is str and value.startswith(_MARK):
            return self._numbers[int(value.removeprefix(_MARK))]
        return value


class JsonAnswer:
    """An answer's document, whose arrays of numbers are filled in last."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []

    def data(self, name: str, array: Array) -> Any:
        """What to write for an output; raises as ``encode_json``."""
        text = encode_numbers(name, array)
        if text is None:
            return encode_json(name, array)
        self._texts.append(text)
        return f"{_MARK}{len(self._texts) - 1}"

    def encoded(self, document: Any) -> bytes:
        """The document with all that stood for numbers."""
        head = json.dumps(document, separators=(",", ":")).encode()
        parts: list[bytes] = []
        for place, text in enumerate(self._texts):
            before, _, head = head.partition(f'"{_MARK}{place}"'.encode())
            parts += (before, text)
        return b"".join((*parts, head))
