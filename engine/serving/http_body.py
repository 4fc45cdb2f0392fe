"""Reads a request's body: decompressed, bounded in bytes and by the server's memory."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.http_message import HttpError, HttpRequest
from surplus.engine.serving.memory_share import MemoryShare

_GRAIN_BYTES = 1 << 20
"""Of a body that is decompressed, counted at a time."""
_DOCUMENT_BYTES = 1 << 20
"""Of a document without tensors, at most: nobody is answered while it is parsed."""
_ZLIB_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_AS_IT_IS = ("", "identity")
_RAW = -15


async def read_body(request: HttpRequest, most_bytes: int) -> memoryview:
    """The body, decompressed; read-only.

    Parameters
    ----------
    most_bytes : int
        Of it, as it came and decompressed.

    Raises
    ------
    HttpError
        If it is larger, takes too long, or is compressed in a way that is not known.
    InputError
        If it is not compressed as it says.
    MemoryLimitError
        If the server has no room for it.
    """
    coding = request.headers.get("content-encoding", "").strip().lower()
    if coding not in _ZLIB_WINDOWS and coding not in _AS_IT_IS:
        raise HttpError(415, "Unsupported Media Type")
    body = await request.read(most_bytes)
    if coding in _AS_IT_IS:
        return body
    return await asyncio.to_thread(_unpacked, body, coding, most_bytes, request.share)


def _unpacked(packed: memoryview, coding: str, most_bytes: int, share: MemoryShare) -> memoryview:
    # Some send what "deflate" says without the frame that it has by its definition.
    is_framed = coding != "deflate" or packed[:1].tobytes() in (b"", b"\x78")
    unpack = zlib.decompressobj(_ZLIB_WINDOWS[coding] if is_framed else _RAW)
    body = bytearray()
    rest: bytes | memoryview = packed
    while not unpack.eof:
        share.take(_GRAIN_BYTES, "the request's body")
        try:
            piece = unpack.decompress(rest, _GRAIN_BYTES)
        except zlib.error as error:
            raise InputError(f"malformed body: not compressed by {coding}: {error}") from None
        body += piece
        if len(body) > most_bytes:
            raise too_large()
        rest = unpack.unconsumed_tail
        if not piece and not rest:
            raise InputError(f"malformed body: what {coding} compressed is cut off")
    return memoryview(body).toreadonly()


def too_large() -> HttpError:
    """Of a body above its limit."""
    return HttpError(413, "Request Entity Too Large")


class DocumentReader:
    """Reads bodies that are a JSON object, or nothing; awaited with a request.

    Parameters
    ----------
    most_bytes : int
        Of bodies; documents are smaller.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = min(most_bytes, _DOCUMENT_BYTES)

    async def __call__(self, request: HttpRequest) -> dict[str, Any]:
        """The object; an empty one where there is no body.

        Raises
        ------
        InputError
            If it is no JSON object.
        HttpError, MemoryLimitError
            As :func:`read_body` does.
        """
        body = bytes(await read_body(request, self._most_bytes))
        if not body.strip():
            return {}
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError("malformed request: not a JSON object") from None
        if type(document) is not dict:
            raise InputError("malformed request: not a JSON object")
        return document
