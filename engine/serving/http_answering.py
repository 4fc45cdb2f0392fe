"""How a request over HTTP becomes an answer, whatever paths there are."""

from __future__ import annotations

from typing import Protocol

from surplus.engine.serving.access import Access
from surplus.engine.serving.http_message import HttpAnswer, HttpError, HttpRequest, json_answer
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.http_status import status_of


class Answering(Protocol):
    """What answers requests."""

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Raises nothing."""
        ...


async def answered(routes: HttpRoutes, access: Access, request: HttpRequest) -> HttpAnswer:
    """By what the table has for who may ask; errors are a status and ``{"error": ...}``."""
    try:
        route = routes.find(request)
        model = route.api.model and request.names[route.api.model]
        access.check(request.caller, route.api.right, model)
        return await route.handler(request)
    except HttpError as error:
        status, text = error.status, f"{request.method} {request.path}: {error}"
        headers = dict(error.headers)
    except Exception as error:
        status, text = status_of(error)
        headers = {}
    return json_answer({"error": text}, status, headers)
