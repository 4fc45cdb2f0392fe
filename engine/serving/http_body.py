"""Reads a request's body: bounded in bytes, in time, and by the server's memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from surplus.engine.errors import InputError
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.memory_share import MemoryShare

_GRAIN_BYTES = 1 << 20
"""The account is asked once for so much."""
_DOCUMENT_BYTES = 1 << 20
"""Of a document without tensors, at most: nobody is answered while it is parsed."""


@dataclass(frozen=True)
class BodyLimits:
    """Of one request's body.

    Parameters
    ----------
    most_bytes : int
        As it came, and decompressed.
    most_s : float
        Seconds until it is there.
    """

    most_bytes: int
    most_s: float


async def read_body(request: web.Request, share: MemoryShare, limits: BodyLimits) -> memoryview:
    """The body, decompressed; read-only.

    Parameters
    ----------
    share : MemoryShare
        Counts it as it comes: who announces much and sends nothing takes nothing.

    Raises
    ------
    web.HTTPRequestEntityTooLarge
        If it is larger, or says that it is.
    web.HTTPRequestTimeout
        If it takes longer.
    MemoryLimitError
        If the server has no room for it.
    """
    announced = request.content_length or 0
    if announced > limits.most_bytes:
        raise web.HTTPRequestEntityTooLarge(limits.most_bytes, announced)
    try:
        async with asyncio.timeout(limits.most_s):
            return await _read(request, share, limits.most_bytes)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None


async def _read(request: web.Request, share: MemoryShare, most_bytes: int) -> memoryview:
    body = bytearray()
    taken = 0
    while chunk := await request.content.readany():
        size = len(body) + len(chunk)
        if size > most_bytes:
            raise web.HTTPRequestEntityTooLarge(most_bytes, size)
        if size > taken:
            more = max(size - taken, _GRAIN_BYTES if taken else 0)
            share.take(more, "the request's body")
            taken += more
        body += chunk
    return memoryview(body).toreadonly()


class DocumentReader:
    """Reads bodies that are a JSON object, or nothing; awaited with a request.

    Parameters
    ----------
    plane : DataPlane
        In whose memory they count.
    limits : BodyLimits
        Of bodies; documents are smaller.
    """

    def __init__(self, plane: DataPlane, limits: BodyLimits) -> None:
        self._plane = plane
        self._limits = replace(limits, most_bytes=min(limits.most_bytes, _DOCUMENT_BYTES))

    async def __call__(self, request: web.Request) -> dict[str, Any]:
        """The object; an empty one where there is no body.

        Raises
        ------
        InputError
            If it is no JSON object.
        web.HTTPException, MemoryLimitError
            As :func:`read_body` does.
        """
        with MemoryShare(self._plane.memory) as share:
            body = bytes(await read_body(request, share, self._limits))
        if not body.strip():
            return {}
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError("malformed request: not a JSON object") from None
        if type(document) is not dict:
            raise InputError("malformed request: not a JSON object")
        return document
