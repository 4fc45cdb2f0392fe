"""The HTTP face: one thin handler a path of the Open Inference Protocol.

As KServe's v2 protocol and Triton's extensions have them: health, metadata, model configuration,
statistics, repository index, and inference with tensors in JSON or as bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from surplus.engine.errors import InputError
from surplus.engine.serving import descriptions, tails
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.http_body import BodyLimits, DocumentReader, read_body
from surplus.engine.serving.http_connections import HttpConnections
from surplus.engine.serving.http_infer import (
    HEADER_LENGTH,
    InferAnswer,
    decode_request,
    encode_answer,
)
from surplus.engine.serving.http_settings import SettingPaths
from surplus.engine.serving.http_shared_memory import SharedMemoryPaths
from surplus.engine.serving.http_status import status_of
from surplus.engine.serving.load_parameters import check_load_parameters, check_unload_parameters
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.served_model import ServedModel

_MODEL = "/v2/models/{name}"
_VERSION = "/v2/models/{name}/versions/{version}"

_TOO_MANY = 429
_LONG_BYTES = 1 << 18
"""A body from there on is read beside the event loop, which answers others meanwhile."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpFace:
    """Handlers of the protocol's paths.

    Parameters
    ----------
    plane : DataPlane
        What answers.
    identity : ServerIdentity
        Who answers.
    connections : HttpConnections
        Hears which connections ask and are answered.
    limits : BodyLimits
        Of bodies that are read.
    """

    def __init__(
        self,
        plane: DataPlane,
        identity: ServerIdentity,
        connections: HttpConnections,
        limits: BodyLimits,
    ) -> None:
        self._plane = plane
        self._identity = identity
        self._connections = connections
        self._limits = limits
        self._document = DocumentReader(plane, limits)

    def application(self) -> web.Application:
        """Application to run; a larger body gets 413, an unknown path 404."""
        application = web.Application(middlewares=(self._heard, _guarded))
        add = application.router.add_route
        add("GET", "/v2", self.server_metadata)
        add("GET", "/v2/health/live", self.server_live)
        add("GET", "/v2/health/ready", self.server_ready)
        add("GET", "/v2/models/stats", self.model_statistics)
        add("GET", "/v2/surplus/top", self.top)
        add("GET", "/v2/surplus/late", self.late)
        add("POST", "/v2/repository/index", self.repository_index)
        add("POST", "/v2/repository/models/{name}/load", self.repository_model_load)
        add("POST", "/v2/repository/models/{name}/unload", self.repository_model_unload)
        for path in (_MODEL, _VERSION):
            add("GET", path, self.model_metadata)
            add("GET", f"{path}/ready", self.model_ready)
            add("GET", f"{path}/config", self.model_config)
            add("GET", f"{path}/stats", self.model_statistics)
            add("POST", f"{path}/infer", self.model_infer)
        SharedMemoryPaths(self._plane.regions, self._document).add_to(application.router)
        SettingPaths(self._plane, self._document).add_to(application.router)
        return application

    async def model_infer(self, request: web.Request) -> web.StreamResponse:
        """Run a query; aiohttp cancels this task when the client goes away."""
        model = self._plane.admit(*_names(request))
        with MemoryShare(self._plane.memory) as share:
            body = await read_body(request, share, self._limits)
            received_ns = self._plane.clock_ns()
            with self._connections.answering(request):
                length = request.headers.get(HEADER_LENGTH)
                given = body, length, received_ns, self._plane.regions, share
                if len(body) < _LONG_BYTES:
                    asked = decode_request(*given)
                else:
                    asked = await asyncio.to_thread(decode_request, *given)
                answer = await self._plane.infer(
                    model, asked.query, lambda outputs: encode_answer(model, asked, outputs, share)
                )
            response = _response(answer)
            await response.prepare(request)
            await response.write_eof()  # here, so that it counts until it is written
            return response

    async def server_live(self, request: web.Request) -> web.StreamResponse:
        """Whether the server answers at all."""
        return web.json_response({"live": True})

    async def server_ready(self, request: web.Request) -> web.StreamResponse:
        """Whether every model is ready and queries are admitted."""
        return _yes_or_no(self._plane.ready, {})

    async def server_metadata(self, request: web.Request) -> web.StreamResponse:
        """Name, version and extensions of the server."""
        extensions = ("binary_tensor_data",)
        return web.json_response(descriptions.server_metadata(self._identity, extensions))

    async def model_ready(self, request: web.Request) -> web.StreamResponse:
        """Whether a model is ready; not so one that is unknown."""
        name, version = _names(request)
        return _yes_or_no(self._plane.models.is_ready(name, version), {"name": name})

    async def model_metadata(self, request: web.Request) -> web.StreamResponse:
        """Versions and signature of a model."""
        model = self._model(request)
        versions = self._plane.models.versions(model.name)
        return web.json_response(descriptions.model_metadata(model, versions))

    async def model_config(self, request: web.Request) -> web.StreamResponse:
        """Signature of a model as a Triton configuration."""
        return web.json_response(descriptions.model_config(self._model(request)))

    async def model_statistics(self, request: web.Request) -> web.StreamResponse:
        """Counters of one model, of all its versions, or of all models."""
        models = self._plane.models.select(*_names(request))
        return web.json_response(descriptions.more_statistics(models))

    async def top(self, request: web.Request) -> web.StreamResponse:
        """What models were asked over the last seconds, and who waited for whom."""
        return web.json_response(await tails.top(tails.window_of(request.query)))

    async def late(self, request: web.Request) -> web.StreamResponse:
        """Why queries came late; ``format=perfetto`` draws them."""
        return web.json_response(await tails.asked_late(request.query))

    async def repository_index(self, request: web.Request) -> web.StreamResponse:
        """State of every version of every model; a body may ask for those that are ready."""
        ready_only = (await self._document(request)).get("ready", False)
        rows = descriptions.repository_index(self._plane.models, ready_only=bool(ready_only))
        return web.json_response(rows)

    async def repository_model_load(self, request: web.Request) -> web.StreamResponse:
        """Put a model back into service."""
        name = _names(request)[0]
        check_load_parameters(name, _parameters(await self._document(request)))
        self._plane.load(name)
        return web.json_response({})

    async def repository_model_unload(self, request: web.Request) -> web.StreamResponse:
        """Take a model out of service."""
        name = _names(request)[0]
        check_unload_parameters(name, _parameters(await self._document(request)))
        self._plane.unload(name)
        return web.json_response({})

    @web.middleware
    async def _heard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._connections.asked(request)
        return await handler(request)

    def _model(self, request: web.Request) -> ServedModel:
        return self._plane.models.find(*_names(request))


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Errors as the protocol has them: a status and ``{"error": ...}``."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        status, text = error.status, f"{request.method} {request.path}: {error.reason}"
        headers: dict[str, str] = {k: v for k, v in error.headers.items() if k == "Allow"}
    except web.RequestPayloadError as error:  # chunks, or a compression, that are none
        status, text, headers = 400, f"malformed body: {error}", {}
    except Exception as error:
        status, text = status_of(error)
        headers = {}
    if status == _TOO_MANY:
        headers["Retry-After"] = "1"
    return web.json_response({"error": text}, status=status, headers=headers)


def _response(answer: InferAnswer) -> web.Response:
    if answer.header_length is None:
        return web.Response(body=answer.body, content_type="application/json")
    return web.Response(
        body=answer.body,
        content_type="application/octet-stream",
        headers={HEADER_LENGTH: str(answer.header_length)},
    )


def _names(request: web.Request) -> tuple[str, str]:
    """Name and version of the path; empty where it has none."""
    return request.match_info.get("name", ""), request.match_info.get("version", "")


def _parameters(document: dict[str, Any]) -> dict[str, Any]:
    """What a body has as its ``parameters``."""
    parameters = document.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError("'parameters' must be an object")
    return parameters


def _yes_or_no(yes: bool, document: dict[str, Any]) -> web.Response:
    """Triton's clients read the status, KServe's the document."""
    return web.json_response({**document, "ready": yes}, status=200 if yes else 400)
