"""A server's life: answer health checks at once, load, serve, drain."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from enum import Enum, auto
from pathlib import Path

from surplus.engine.cli.loads import Loads, say
from surplus.engine.cli.unless_stopped import unless_stopped
from surplus.engine.errors import ConfigError, EngineError
from surplus.engine.serving.executor import Executor, TensorSpec
from surplus.engine.serving.repository import RepositoryEntry
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.server import Server
from surplus.engine.serving.server_params import ServerParams

_LOOK_S = 0.2
"""How soon a lost device or held lanes are noticed; a look costs a few microseconds a model."""


class Ended(Enum):
    """How a server ended: with every query in flight answered, not so, or without its device."""

    DONE = auto()
    UNFINISHED = auto()
    DEVICE_LOST = auto()


async def serve(
    params: ServerParams,
    entries: Sequence[RepositoryEntry],
    loads: Loads,
    *,
    restarts: bool = False,
) -> Ended:
    """Serve models until SIGTERM or SIGINT, each from the moment that it is loaded.

    Parameters
    ----------
    loads : Loads
        Of these entries.
    restarts : bool
        Whether to stop, too, once a model can answer nothing any more since its device is lost.

    Raises
    ------
    EngineError
        If the address cannot be bound, or no model can be loaded.
    """
    server = Server(params)
    served = [(entry, server.plane.models.add(entry.name, entry.version)) for entry in entries]
    address = f"{params.host}:{await server.start()}"
    try:
        ready = await unless_stopped(server, _all_loaded(served, loads))
    except BaseException:
        await server.stop()
        raise
    watch = asyncio.create_task(_look_after(server, served, restarts))
    finished = await server.serve_until_stopped(
        lambda: announce(ready, address, params.host, server.http_port)
    )
    if watch.done():
        return Ended.DEVICE_LOST
    watch.cancel()
    return Ended.DONE if finished else Ended.UNFINISHED


async def _look_after(
    server: Server, served: Sequence[tuple[RepositoryEntry, ServedModel]], restarts: bool
) -> None:
    """Say once what a model goes on without; stop the server when one can answer nothing more."""
    said = [""] * len(served)
    while not (restarts and (lost := [m.failure for _, m in served if m.failure])):
        notices = [model.notice for _, model in served]
        for (entry, _), before, notice in zip(served, said, notices, strict=True):
            if notice not in ("", before):
                say(f"{entry.name}: {notice}")
        said = notices
        await asyncio.sleep(_LOOK_S)
    say(f"{lost[0]}; the server ends, to be started again")
    server.request_stop()


async def _all_loaded(
    served: Sequence[tuple[RepositoryEntry, ServedModel]], loads: Loads
) -> list[tuple[RepositoryEntry, ServedModel]]:
    """Those that became ready, in order.

    Raises
    ------
    EngineError
        If none did; of a single model its own error.
    """

    async def one(entry: RepositoryEntry, model: ServedModel, load: Future[Executor]) -> bool:
        try:
            model.set_ready(await asyncio.wrap_future(load))
        except EngineError as error:
            model.set_unavailable(str(error))
            if len(served) == 1:
                raise
            say(f"{entry.name}: {error}")
            return False
        return True

    with loads as futures:
        done = await asyncio.gather(
            *(one(*pair, load) for pair, load in zip(served, futures, strict=True))
        )
    ready = [pair for pair, well in zip(served, done, strict=True) if well]
    if not ready:
        raise ConfigError("no model could be loaded")
    return ready


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def announce(
    ready: Sequence[tuple[RepositoryEntry, ServedModel]],
    address: str,
    host: str,
    http_port: int | None,
) -> None:
    """Say what is served where, and how to query it."""
    names = ", ".join(dict.fromkeys(entry.name for entry, _ in ready))
    print(f"serving {names} on {address} (gRPC, Open Inference Protocol)")
    entry, model = ready[0]
    print(f"query: {query_command(entry, model.executor.inputs, address)}", flush=True)
    if http_port is not None:
        print(f"HTTP: http://{_host(host)}:{http_port}/v2", flush=True)


def query_command(entry: RepositoryEntry, inputs: Sequence[TensorSpec], address: str) -> str:
    """A command that sends queries to a model: its example inputs, or else open dimensions of 1."""
    command = [_loadgen(), "--url", address, "--model", entry.name, "--duration", "10s"]
    beside = entry.path.with_suffix(".npz")
    if beside.exists():
        return shlex.join([*command, "--inputs", str(beside)])
    for spec in inputs:
        if spec.shape is not None and -1 in spec.shape:
            command += ["--shape", f"{spec.name}:{','.join(str(abs(size)) for size in spec.shape)}"]
    return shlex.join(command)


def _loadgen() -> str:
    """The load generator of this installation, short where that lies below this folder."""
    tool = Path(sys.executable).with_name("loadgen")
    if not tool.exists():
        return "loadgen"
    try:
        return str(tool.relative_to(Path.cwd()))
    except ValueError:
        return str(tool)
