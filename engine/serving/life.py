"""A server's life: answer health checks at once, make models ready, serve, drain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from enum import Enum, auto
from typing import Any, NoReturn

from surplus.engine.errors import ConfigError, EngineError
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.announcement import announce
from surplus.engine.serving.say import say
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams
from surplus.engine.serving.unless_stopped import unless_stopped

_LOOK_S = 0.2
"""How soon a lost device or held lanes are noticed; a look costs a few microseconds a model."""

Served = tuple[RepositoryEntry, ServedModel]

MakeReady = Callable[[AsyncServer, Sequence[Served]], Coroutine[Any, Any, Sequence[Served]]]
"""Sets executors to the models of a server that answers health checks already.

It returns those that became ready; it raises an EngineError if none did.
"""


class ServerEnd(Enum):
    """How a server ended: with every query in flight answered, not so, or without its device."""

    DONE = auto()
    UNFINISHED = auto()
    DEVICE_LOST = auto()


async def serve(
    params: ServerParams,
    entries: Sequence[RepositoryEntry],
    make_ready: MakeReady,
    end_by: Callable[[int], NoReturn],
    *,
    restarts: bool = False,
) -> ServerEnd:
    """Serve models until SIGTERM or SIGINT, each from the moment that it is ready.

    Parameters
    ----------
    end_by : callable
        Ends the process by a signal that comes while models are made ready.
    restarts : bool
        Whether to stop, too, once a model can answer nothing any more since its device is lost.

    Raises
    ------
    EngineError
        If the address cannot be bound, or ``make_ready`` raises it.
    """
    server = AsyncServer(params)
    served = [(entry, server.plane.models.add(entry.name, entry.version)) for entry in entries]
    address = f"{params.host}:{await server.start()}"
    try:
        ready = await unless_stopped(server, make_ready(server, served), end_by)
    except BaseException:
        await server.stop()
        raise
    watch = asyncio.create_task(_look_after(server, restarts))
    finished = await server.serve_until_stopped(
        lambda: announce(
            ready, address, params.host, server.http_port, params.tls, server.metrics_port
        )
    )
    if watch.done():
        return ServerEnd.DEVICE_LOST
    watch.cancel()
    return ServerEnd.DONE if finished else ServerEnd.UNFINISHED


async def all_loaded(
    loads: Sequence[Future[Servable]], served: Sequence[Served], *, may_fail: bool = False
) -> Sequence[Served]:
    """Those of which a load went well, in order; each is served as soon as it is loaded.

    Parameters
    ----------
    may_fail : bool
        Whether it is no error that none is, since others may come later.

    Raises
    ------
    EngineError
        If none did; of a single model its own error.
    """

    async def one(entry: RepositoryEntry, model: ServedModel, load: Future[Servable]) -> bool:
        try:
            model.set_ready(await asyncio.wrap_future(load))
        except EngineError as error:
            model.set_unavailable(str(error))
            if len(served) == 1 and not may_fail:
                raise
            say(f"{entry.name}: {error}")
            return False
        return True

    done = await asyncio.gather(
        *(one(*pair, load) for pair, load in zip(served, loads, strict=True))
    )
    ready = [pair for pair, well in zip(served, done, strict=True) if well]
    if not ready and not may_fail:
        raise ConfigError("no model could be loaded")
    return ready


async def _look_after(server: AsyncServer, restarts: bool) -> None:
    """Say once what a model goes on without; stop the server when one can answer nothing more."""
    said: dict[ServedModel, str] = {}
    models = server.plane.models
    while not (restarts and (lost := [m.failure for m in models if m.failure])):
        for model in models:
            notice = model.notice
            if notice not in ("", said.get(model)):
                say(f"{model.name}: {notice}")
            said[model] = notice
        await asyncio.sleep(_LOOK_S)
    say(f"{lost[0]}; the server ends, to be started again")
    server.request_stop()
