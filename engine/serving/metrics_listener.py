"""The metrics port: what observes the server asks there, and no query comes in its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from surplus.engine import _core
from surplus.engine.errors import ConfigError, UnsupportedError
from surplus.engine.serving.access import Access
from surplus.engine.serving.address import cannot_listen, check_address, listening_sockets
from surplus.engine.serving.certificates import Certificates
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.http_answering import answered
from surplus.engine.serving.http_message import HttpAnswer, HttpRequest
from surplus.engine.serving.http_routes import HttpRoutes
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.native_requests import NativeRequests
from surplus.engine.serving.observation import ObservationPaths
from surplus.engine.serving.server_params import ServerParams

_LOG = logging.getLogger(__name__)

_MOST_CONNECTIONS = 64
_MOST_BODY_BYTES = 1 << 16
_FLUSH_GRACE_S = 1.0


class MetricsFace:
    """The paths of the metrics port, which change nothing."""

    def __init__(self, observation: ObservationPaths, access: Access) -> None:
        self._access = access
        self._routes = HttpRoutes()
        observation.add_to(self._routes)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """As the REST port answers the same."""
        return await answered(self._routes, self._access, request)


@dataclass(frozen=True)
class MetricsListener:
    """A port that is bound, and how to let it go."""

    port: int
    stop: Callable[[], Awaitable[None]]


async def listen_for_metrics(
    plane: DataPlane,
    observation: ObservationPaths,
    params: ServerParams,
    certificates: Certificates | None,
    access: Access,
    *,
    is_native: bool,
) -> MetricsListener | None:
    """Answer on ``params.metrics_port``; None where none is wanted, or the one that may is taken.

    Raises
    ------
    ConfigError
        If it is needed and cannot be bound, or nothing is here that speaks HTTP.
    """
    if params.metrics_port is None:
        return None
    face = MetricsFace(observation, access)
    try:
        if params.shares_metrics_port:
            raise ConfigError(f"port {params.metrics_port} is for queries")
        check_address(params.host, params.metrics_port)
        if is_native:
            return _by_our_own(plane, face, params, certificates, access)
        return await _by_aiohttp(plane, face, params, certificates)
    except ConfigError as error:
        if params.needs_metrics_port:
            raise
        _LOG.warning("no port for metrics: %s (--metrics-port, --no-metrics)", error)
        return None


def _by_our_own(
    plane: DataPlane,
    face: MetricsFace,
    params: ServerParams,
    certificates: Certificates | None,
    access: Access,
) -> MetricsListener:
    tls = None if certificates is None else certificates.native()
    sockets = listening_sockets(params.host, params.metrics_port or 0)
    port: int = sockets[0].getsockname()[1]
    front = _core.Frontend(
        [(bound.detach(), "rest") for bound in sockets],
        plane.regions.table,
        most_connections=min(_MOST_CONNECTIONS, params.max_connections),
        most_streams=1,
        most_message_bytes=_MOST_BODY_BYTES,
        idle_ns=0,
        body_ns=int(params.max_body_s * 1e9),
        tls=tls,
        handshake_ns=int(params.max_handshake_s * 1e9),
    )
    access.guard(front)
    if certificates is not None:
        certificates.on_renewal(lambda: front.renew(certificates.native()))
    calls = NativeCalls(front, (), _no_item, _MOST_BODY_BYTES, NativeRequests(front, face, plane))
    loop = asyncio.get_running_loop()
    loop.add_reader(front.event_fd, calls.take_events)

    async def stop() -> None:
        await asyncio.to_thread(front.stop, _FLUSH_GRACE_S)
        loop.remove_reader(front.event_fd)
        await calls.close()

    return MetricsListener(port, stop)


async def _by_aiohttp(
    plane: DataPlane, face: MetricsFace, params: ServerParams, certificates: Certificates | None
) -> MetricsListener:
    try:
        from surplus.engine.serving.http_listener import listen
    except ImportError as error:
        raise ConfigError(
            "metrics need aiohttp here: pip install 'surplus-engine[http]'"
        ) from error
    tls = None if certificates is None else certificates.for_http()
    most = min(_MOST_CONNECTIONS, params.max_connections)
    bound = replace(params, http_port=params.metrics_port, one_port=False, max_connections=most)
    try:
        listener = await listen(plane, face, bound, tls)
    except OSError as error:
        assert params.metrics_port is not None, "as above"
        raise cannot_listen(params.host, params.metrics_port, str(error.strerror)) from error
    return MetricsListener(listener.port, listener.stop)


async def _no_item(data: bytes, context: object) -> bytes:
    raise UnsupportedError("no queries are answered here")
