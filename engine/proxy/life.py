"""The life of ``engine route``: find models, listen, route, drain."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from surplus.engine.proxy.route_params import RouteParams
from surplus.engine.proxy.routed_models import RoutedModels
from surplus.engine.serving.announcement import say_address, say_others
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams


async def route(params: RouteParams, serving: ServerParams) -> bool:
    """Route until SIGTERM or SIGINT, then drain.

    Returns
    -------
    bool
        Whether every query in flight was answered within the drain's timeout.

    Raises
    ------
    ConfigError
        If no model is found, an address cannot be bound, or there is no native front end.
    """
    models = RoutedModels(params)
    try:
        await models.find()
        server = AsyncServer(serving)
        address = f"{serving.host}:{await server.start()}"
        models.serve_by(server)
        looking = asyncio.create_task(models.keep_looking())

        def announce() -> None:
            say_address(f"routing {', '.join(models.names)}", address, serving.tls)
            say_others(serving.host, server.http_port, serving.tls, server.metrics_port)

        try:
            return await server.serve_until_stopped(announce)
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
    finally:
        await models.close()
