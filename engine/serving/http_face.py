"""The HTTP face: one thin handler a path of the Open Inference Protocol.

As KServe's v2 protocol and Triton's extensions have them: health, metadata, model configuration,
statistics, repository index, and inference with tensors in JSON or as bytes. Who reads requests and
writes answers is another's: the native front end, or aiohttp's server.
"""

from __future__ import annotations

import asyncio
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.repository.config_document import document_of
from surplus.engine.serving import descriptions
from surplus.engine.serving.access import Access
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.http_answering import answered
from surplus.engine.serving.http_body import DocumentReader, read_body
from surplus.engine.serving.http_infer import (
    HEADER_LENGTH,
    InferAnswer,
    decode_request,
    encode_answer,
)
from surplus.engine.serving.http_message import HttpAnswer, HttpRequest, json_answer
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.http_settings import SettingPaths
from surplus.engine.serving.http_shared_memory import SharedMemoryPaths
from surplus.engine.serving.load_request import override_of, wants_dependents
from surplus.engine.serving.observation import ObservationPaths
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.step_counts import share_out

_MODEL = "/v2/models/{name}"
_VERSION = "/v2/models/{name}/versions/{version}"

_LONG_BYTES = 1 << 18
"""A body from there on is read beside the event loop, which answers others meanwhile."""


class HttpFace:
    """Handlers of the protocol's paths.

    Parameters
    ----------
    plane : DataPlane
        What answers.
    identity : ServerIdentity
        Who answers.
    most_bytes : int
        Of a body, as it came and decompressed; a larger one gets 413.
    access : Access, optional
        Who may ask for what; else anybody for all.
    observation : ObservationPaths, optional
        What it says of how the server does; all of it by default.
    """

    def __init__(
        self,
        plane: DataPlane,
        identity: ServerIdentity,
        most_bytes: int,
        access: Access | None = None,
        observation: ObservationPaths | None = None,
    ) -> None:
        self._plane = plane
        self._identity = identity
        self._most_bytes = most_bytes
        self._access = access or Access()
        self._document = DocumentReader(most_bytes)
        self._observation = observation or ObservationPaths(plane)
        self._routes = self._table()

    @property
    def paths(self) -> set[tuple[str, str]]:
        """Methods and paths that it answers; parts in braces stand for names."""
        return self._routes.paths

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Errors as the protocol has them: a status and ``{"error": ...}``."""
        return await answered(self._routes, self._access, request)

    def _table(self) -> HttpRoutes:
        routes = HttpRoutes()
        add = routes.add
        add("GET", "/v2", self.server_metadata)
        add("GET", "/v2/health/live", self.server_live)
        add("GET", "/v2/health/ready", self.server_ready)
        add("GET", "/v2/models/stats", self.model_statistics)
        add("POST", "/v2/repository/index", self.repository_index)
        add("POST", "/v2/repository/models/{name}/load", self.repository_model_load)
        add("POST", "/v2/repository/models/{name}/unload", self.repository_model_unload)
        for path in (_MODEL, _VERSION):
            add("GET", path, self.model_metadata)
            add("GET", f"{path}/ready", self.model_ready)
            add("GET", f"{path}/config", self.model_config)
            add("GET", f"{path}/stats", self.model_statistics)
            add("POST", f"{path}/infer", self.model_infer)
        SharedMemoryPaths(self._plane.regions, self._document).add_to(routes)
        SettingPaths(self._plane, self._document).add_to(routes)
        self._observation.add_to(routes)
        return routes

    async def model_infer(self, request: HttpRequest) -> HttpAnswer:
        """Run a query; this task is cancelled when the client goes away."""
        model = self._plane.admit(*_names(request))
        body = await read_body(request, self._most_bytes)
        received_ns = self._plane.clock_ns()
        request.begin_query()
        share = request.share
        length = request.headers.get(HEADER_LENGTH.lower())
        trace_parent = request.headers.get("traceparent", "")
        given = body, length, received_ns, self._plane.regions, share, trace_parent
        if len(body) < _LONG_BYTES:
            asked = decode_request(*given)
        else:
            asked = await asyncio.to_thread(decode_request, *given)
        return _response(
            await self._plane.infer(
                model, asked.query, lambda outputs: encode_answer(model, asked, outputs, share)
            )
        )

    async def server_live(self, request: HttpRequest) -> HttpAnswer:
        """Whether the server answers at all."""
        return json_answer({"live": True})

    async def server_ready(self, request: HttpRequest) -> HttpAnswer:
        """Whether every model is ready and queries are admitted."""
        return _yes_or_no(self._plane.ready, {})

    async def server_metadata(self, request: HttpRequest) -> HttpAnswer:
        """Name, version and extensions of the server."""
        extensions = ("binary_tensor_data",)
        return json_answer(descriptions.server_metadata(self._identity, extensions))

    async def model_ready(self, request: HttpRequest) -> HttpAnswer:
        """Whether a model is ready; not so one that is unknown."""
        name, version = _names(request)
        return _yes_or_no(self._plane.models.is_ready(name, version), {"name": name})

    async def model_metadata(self, request: HttpRequest) -> HttpAnswer:
        """Versions and signature of a model."""
        model = self._model(request)
        versions = self._plane.models.versions(model.name)
        return json_answer(descriptions.model_metadata(model, versions))

    async def model_config(self, request: HttpRequest) -> HttpAnswer:
        """A model's configuration, completed."""
        return json_answer(document_of(descriptions.model_config(self._model(request))))

    async def model_statistics(self, request: HttpRequest) -> HttpAnswer:
        """Counters of one model, of all its versions, or of all models."""
        share_out(self._plane.models)
        models = self._plane.models.select(*_names(request))
        return json_answer(descriptions.more_statistics(models))

    async def repository_index(self, request: HttpRequest) -> HttpAnswer:
        """State of every version of every model; a body may ask for those that are ready."""
        ready_only = (await self._document(request)).get("ready", False)
        unlisted = await self._plane.unlisted()
        rows = descriptions.repository_index(
            self._plane.models, unlisted, ready_only=bool(ready_only)
        )
        return json_answer(rows)

    async def repository_model_load(self, request: HttpRequest) -> HttpAnswer:
        """Put a model into service, as its files are."""
        name, control = _names(request)[0], self._plane.controlled()
        override = override_of(name, _parameters(await self._document(request)))
        await control.load(name, override)
        return json_answer({})

    async def repository_model_unload(self, request: HttpRequest) -> HttpAnswer:
        """Take a model out of service."""
        name, control = _names(request)[0], self._plane.controlled()
        dependents = wants_dependents(name, _parameters(await self._document(request)))
        await control.unload(name, dependents=dependents)
        return json_answer({})

    def _model(self, request: HttpRequest) -> ServedModel:
        return self._plane.models.find(*_names(request))


def _response(answer: InferAnswer) -> HttpAnswer:
    if answer.header_length is None:
        return HttpAnswer(200, answer.body, {"Content-Type": "application/json"})
    headers = {
        "Content-Type": "application/octet-stream",
        HEADER_LENGTH: str(answer.header_length),
    }
    return HttpAnswer(200, answer.body, headers)


def _names(request: HttpRequest) -> tuple[str, str]:
    """Name and version of the path; empty where it has none."""
    return request.names.get("name", ""), request.names.get("version", "")


def _parameters(document: dict[str, Any]) -> dict[str, Any]:
    """What a body has as its ``parameters``."""
    parameters = document.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError("'parameters' must be an object")
    return parameters


def _yes_or_no(yes: bool, document: dict[str, Any]) -> HttpAnswer:
    """Triton's clients read the status, KServe's the document."""
    return json_answer({**document, "ready": yes}, status=200 if yes else 400)
