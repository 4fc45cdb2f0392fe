"""Large tensors in and out of protobuf without protobuf's own copies.

Protobuf's Python classes copy a bytes field when a message is parsed, when the field is read, when
it is set and when the message is serialised. Raw tensor contents are top-level fields of both infer
messages, and a message is the concatenation of its fields in any order; so they can be cut out of
a request before it is parsed, and appended to an answer after it is serialised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.codec import Buffer
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.value_costs import PARSED_PER_BYTE

_InferRequest = message_type("ModelInferRequest")
_LENGTH_DELIMITED = 2
_RAW_INPUT_TAG = 7 << 3 | _LENGTH_DELIMITED
_RAW_OUTPUT_TAG = bytes([6 << 3 | _LENGTH_DELIMITED])
_MOST_FIELDS = 1 << 16  # walking those of 64 MB of empty ones would take half a minute
_SPLIT_FROM_BYTES = 32 * 1024  # below it, walking the fields in Python costs more than the copies


def split_infer_request(
    data: bytes, share: MemoryShare | None = None
) -> tuple[Any, Sequence[Buffer]]:
    """Parse a serialised ``ModelInferRequest``; its raw inputs come apart, as views of ``data``.

    Parameters
    ----------
    share : MemoryShare, optional
        Counts what is parsed before it is.

    Raises
    ------
    google.protobuf.message.DecodeError
        If ``data`` is no such message.
    InputError
        If it has more fields than any query.
    MemoryLimitError
        If the server has no room for what is parsed of it.
    """
    fields = _top_level_fields(data) if len(data) >= _SPLIT_FROM_BYTES else None
    if fields is None:
        request = _parsed(data, share)
        return request, request.raw_input_contents
    view = memoryview(data)
    raw = [view[value:end] for start, value, end in fields if data[start] == _RAW_INPUT_TAG]
    rest = b"".join(view[start:end] for start, _, end in fields if data[start] != _RAW_INPUT_TAG)
    return _parsed(rest, share), raw


def _parsed(data: bytes, share: MemoryShare | None) -> Any:
    if share is not None:
        share.take(PARSED_PER_BYTE * len(data), "the request's values")
    return _InferRequest.FromString(data)


def join_infer_response(header: Any, raw_outputs: Iterable[Any]) -> bytes:
    """Serialise a ``ModelInferResponse`` with ``raw_outputs`` appended: one copy of each.

    Parameters
    ----------
    header : ModelInferResponse
        The answer without its raw contents.
    raw_outputs : iterable of buffers of bytes
        One for each output of the header, in the same order.
    """
    return _joined(header, _RAW_OUTPUT_TAG, raw_outputs)


def join_infer_request(header: Any, raw_inputs: Iterable[Any]) -> bytes:
    """Serialise a ``ModelInferRequest``, likewise."""
    return _joined(header, bytes([_RAW_INPUT_TAG]), raw_inputs)


def _joined(header: Any, tag: bytes, contents: Iterable[Any]) -> bytes:
    parts = [header.SerializeToString()]
    for raw in contents:
        parts += (tag, _varint(len(raw)), raw)
    return b"".join(parts)


def embedded(field: int, *parts: bytes) -> bytes:
    """Serialise a message that holds nothing but one, serialised in parts, in a field below 16."""
    size = sum(map(len, parts))
    return b"".join((bytes([field << 3 | _LENGTH_DELIMITED]), _varint(size), *parts))


def _top_level_fields(data: bytes) -> list[tuple[int, int, int]] | None:
    """(start, start of value, end) of every field.

    None unless all are length-delimited with one-byte tags and end where the data end; protobuf
    itself then decides whether the message is merely unusual or malformed.
    """
    fields = []
    start, size = 0, len(data)
    while start < size:
        if data[start] > 127 or data[start] & 7 != _LENGTH_DELIMITED:
            return None
        length, value = _read_varint(data, start + 1)
        end = value + length
        if value < 0 or end > size:
            return None
        fields.append((start, value, end))
        if len(fields) > _MOST_FIELDS:
            raise InputError(f"the request has more than {_MOST_FIELDS} fields")
        start = end
    return fields


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of up to 35 bits and where it ends; -1 for the end if it does not."""
    number = 0
    for index, byte in enumerate(data[position : position + 5]):
        number |= (byte & 127) << 7 * index
        if byte < 128:
            return number, position + index + 1
    return 0, -1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
