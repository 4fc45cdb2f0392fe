"""The paths that say how a server does: metrics, the status page and what that asks for.

The only table of them; both the REST port and the metrics port have them. None changes anything.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from surplus.engine.serving import tails, timeline
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.http_message import HttpAnswer, HttpRequest, json_answer
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.model_summaries import server_summary
from surplus.engine.serving.traced_queries import asked_trace

if TYPE_CHECKING:
    from surplus.engine.serving.metrics.metrics import Metrics

PREFIX = "/v2/surplus"
_PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
        " connect-src 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
}


class ObservationPaths:
    """Handlers of the paths.

    Parameters
    ----------
    plane : DataPlane
        What is observed.
    has_metrics : bool
        Whether ``/metrics`` is one of them.
    """

    def __init__(self, plane: DataPlane, *, has_metrics: bool = True) -> None:
        self._plane = plane
        self._has_metrics = has_metrics

    def add_to(self, routes: HttpRoutes) -> None:
        """Route the paths here."""
        add = routes.add
        if self._has_metrics:
            add("GET", "/metrics", self.metrics)
        add("GET", "/", self.page)
        add("GET", "/status", self.page)
        add("GET", f"{PREFIX}/server", self.server)
        add("GET", f"{PREFIX}/top", self.top)
        add("GET", f"{PREFIX}/late", self.late)
        add("GET", f"{PREFIX}/timeline", self.timeline)
        add("GET", f"{PREFIX}/trace", self.trace)

    async def metrics(self, request: HttpRequest) -> HttpAnswer:
        """What Prometheus scrapes; ``prefix=surplus_,process_`` is those that begin so."""
        prefixes = request.query.get("prefix", "")
        text = await self._metrics.text([one for one in prefixes.split(",") if one])
        return HttpAnswer(200, text, {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def page(self, request: HttpRequest) -> HttpAnswer:
        """The status page; it asks for the paths below."""
        return HttpAnswer(200, self._page, _PAGE_HEADERS)

    async def server(self, request: HttpRequest) -> HttpAnswer:
        """Models with what became of their queries since the start, and memory."""
        return json_answer(server_summary(self._plane))

    async def top(self, request: HttpRequest) -> HttpAnswer:
        """What models were asked over the last seconds, and who waited for whom."""
        window_s = tails.window_of(request.query)
        return json_answer(await tails.top(window_s, self._plane.policies()))

    async def late(self, request: HttpRequest) -> HttpAnswer:
        """Why queries came late; ``format=perfetto`` draws them."""
        return json_answer(await tails.asked_late(request.query))

    async def timeline(self, request: HttpRequest) -> HttpAnswer:
        """What lanes ran over the last seconds."""
        window_s = tails.window_of(request.query)
        return json_answer(await asyncio.to_thread(timeline.document, window_s))

    async def trace(self, request: HttpRequest) -> HttpAnswer:
        """One query, drawn for Perfetto."""
        return json_answer(await asked_trace(self._plane, request.query))

    @cached_property
    def _metrics(self) -> Metrics:
        # Here, since what it imports takes longer than a server's start should: 40 ms.
        from surplus.engine.serving.metrics.metrics import Metrics

        return Metrics(self._plane)

    @cached_property
    def _page(self) -> bytes:
        return files("surplus.engine.serving").joinpath("status.html").read_bytes()
