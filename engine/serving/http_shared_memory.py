"""The paths of shared memory over HTTP: what clients register, and what is registered."""

from __future__ import annotations

import base64
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.cuda_memory import cuda_register, cuda_status, cuda_unregister
from surplus.engine.serving.http_body import DocumentReader
from surplus.engine.serving.http_message import HttpAnswer, HttpRequest, json_answer
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.shared_memory import SharedRegions

_LARGEST = 2**63 - 1


class SharedMemoryPaths:
    """Handlers of the paths.

    Parameters
    ----------
    regions : SharedRegions
        What they are about.
    document : DocumentReader
        Reads what is asked for.
    """

    def __init__(self, regions: SharedRegions, document: DocumentReader) -> None:
        self._regions = regions
        self._document = document

    def add_to(self, routes: HttpRoutes) -> None:
        """Route the paths here."""
        for memory, status, register, unregister in (
            ("system", self.status, self.register, self.unregister),
            ("cuda", self.cuda_status, self.cuda_register, self.cuda_unregister),
        ):
            root = f"/v2/{memory}sharedmemory"
            for path in (root, f"{root}/region/{{name}}"):
                routes.add("GET", f"{path}/status", status)
                routes.add("POST", f"{path}/unregister", unregister)
            routes.add("POST", f"{root}/region/{{name}}/register", register)

    async def status(self, request: HttpRequest) -> HttpAnswer:
        """One region, or all."""
        return json_answer(self._regions.status(_name(request)))

    async def register(self, request: HttpRequest) -> HttpAnswer:
        """Let queries name a part of some shared memory."""
        asked = await self._document(request)
        key = asked.get("key")
        if type(key) is not str:
            raise InputError("Shared memory register request has no 'key' field: a string")
        offset, size_bytes = _number(asked, "offset", 0), _number(asked, "byte_size", None)
        self._regions.register(_name(request), key, offset, size_bytes)
        return json_answer({})

    async def unregister(self, request: HttpRequest) -> HttpAnswer:
        """Forget one region, or all."""
        self._regions.unregister(_name(request))
        return json_answer({})

    async def cuda_status(self, request: HttpRequest) -> HttpAnswer:
        """The same of GPUs' memory."""
        return json_answer(cuda_status(self._regions, _name(request)))

    async def cuda_register(self, request: HttpRequest) -> HttpAnswer:
        """Let queries name memory of a GPU."""
        asked = await self._document(request)
        handle = _handle(asked.get("raw_handle"))
        gpu, size_bytes = _number(asked, "device_id", None), _number(asked, "byte_size", None)
        cuda_register(self._regions, _name(request), handle, gpu, size_bytes)
        return json_answer({})

    async def cuda_unregister(self, request: HttpRequest) -> HttpAnswer:
        """Forget one region of GPUs' memory, or all."""
        cuda_unregister(self._regions, _name(request))
        return json_answer({})


def _name(request: HttpRequest) -> str:
    return request.names.get("name", "")


def _handle(given: Any) -> bytes:
    """Bytes of ``{"b64": text}``, as Triton's clients send them."""
    text = given.get("b64") if type(given) is dict else None
    if type(text) is str:
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            pass
    raise InputError("Shared memory register request has no 'raw_handle' field: {'b64': base64}")


def _number(asked: dict[str, Any], name: str, default: int | None) -> int:
    value = asked.get(name, default)
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise InputError(
            f"Shared memory register request has no {name!r} field: a number from 0 to {_LARGEST}"
        )
    return value
