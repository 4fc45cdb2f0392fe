"""Which handler answers a path: the only table of REST's paths is made of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote

from surplus.engine.serving.http_message import HttpAnswer, HttpError, HttpRequest
from surplus.engine.serving.rights import Api, api_of_path

Handler = Callable[[HttpRequest], Awaitable[HttpAnswer]]


@dataclass(frozen=True)
class Route:
    """What answers a path, and what its caller needs."""

    handler: Handler
    api: Api


class HttpRoutes:
    """Paths of parts; one in braces, as ``{name}``, stands for any part that is not empty."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, tuple[str, ...], Route]] = []

    def add(self, method: str, path: str, handler: Handler) -> None:
        """Have requests of that method and path answered; earlier ones come first.

        Raises
        ------
        LookupError
            If ``rights.py`` does not say who may ask for it.
        """
        route = Route(handler, api_of_path(method, path))
        self._rows.append((method, tuple(path.split("/")), route))

    @property
    def paths(self) -> set[tuple[str, str]]:
        """Methods and paths that are answered."""
        return {(method, "/".join(parts)) for method, parts, _ in self._rows}

    def find(self, request: HttpRequest) -> Route:
        """What answers a request, whose names are set.

        Raises
        ------
        HttpError
            If nothing does: 404, or 405 where another method would be answered.
        """
        parts = request.raw_path.split("/")
        others: dict[str, None] = {}
        for method, pattern, route in self._rows:
            names = _names(pattern, parts)
            if names is None:
                continue
            if method == request.method:
                request.names = names
                return route
            others[method] = None
        if others:
            raise HttpError(405, "Method Not Allowed", {"Allow": ",".join(sorted(others))})
        raise HttpError(404, "Not Found")


def _names(pattern: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    """What the parts are called; None where they are of another pattern."""
    if len(pattern) != len(parts):
        return None
    names: dict[str, str] = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{"):
            if not part:
                return None
            names[wanted[1:-1]] = unquote(part)
        elif wanted != part:
            return None
    return names
