"""The paths that read and change settings of the server over HTTP."""

from __future__ import annotations

from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.http_body import DocumentReader
from surplus.engine.serving.http_message import HttpAnswer, HttpRequest, json_answer
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.trace_settings import LISTS


class SettingPaths:
    """Handlers of the paths.

    Parameters
    ----------
    plane : DataPlane
        Whose settings they are.
    document : DocumentReader
        Reads what is asked for.
    """

    def __init__(self, plane: DataPlane, document: DocumentReader) -> None:
        self._plane = plane
        self._document = document

    def add_to(self, routes: HttpRoutes) -> None:
        """Route the paths here."""
        for path in ("/v2/trace/setting", "/v2/models/{name}/trace/setting"):
            routes.add("GET", path, self.trace_setting)
            routes.add("POST", path, self.trace_setting)
        routes.add("GET", "/v2/logging", self.log_settings)
        routes.add("POST", "/v2/logging", self.log_settings)

    async def trace_setting(self, request: HttpRequest) -> HttpAnswer:
        """What is traced, after the changes that are asked for."""
        traces, model = self._plane.traces, request.names.get("name", "")
        if model:
            self._plane.models.find(model)
        if request.method == "POST":
            asked = await self._document(request)
            traces.update({name: _texts(name, value) for name, value in asked.items()}, model)
        values = traces.values().items()
        return json_answer({n: list(found) if n in LISTS else found[0] for n, found in values})

    async def log_settings(self, request: HttpRequest) -> HttpAnswer:
        """What is logged, after the changes that are asked for."""
        if request.method == "POST":
            self._plane.log.update(await self._document(request))
        return json_answer(self._plane.log.values())


def _texts(name: str, value: Any) -> list[str]:
    """The values of a trace setting, which are text, or a list of texts, or null for none."""
    values = [] if value is None else value if isinstance(value, list) else [value]
    if not all(type(text) is str for text in values):
        raise InputError(f"trace setting {name!r} must be a string or a list of strings")
    return values
