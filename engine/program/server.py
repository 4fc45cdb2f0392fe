"""A server of models in the process that has them: ``surplus.Server``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self, Unpack

from surplus.engine.errors import ConfigError
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.served_late import ServedLate
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.program.isolated_models import IsolatedModels
from surplus.engine.program.server_options import ServerOptions
from surplus.engine.runtime.model import Model
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import MAX_WAIT_MS, ServerParams
from surplus.engine.serving.tls_context import server_context

_AS_SERVED: dict[str, Any] = {
    "on_late": "reject",
    "max_wait_s": MAX_WAIT_MS / 1e3,
    "crash_probe": True,
}
"""What cannot be in time is refused at once, and files are probed, as by ``engine serve``."""


class Server:
    """Serves models over the Open Inference Protocol from a thread of this process.

    ::

        with surplus.Server({"detector": "detector.onnx"}, http_port=8000) as server:
            print(server.address, server.http_address)
            server.wait()

    Signals stay the program's: Ctrl-C ends ``wait`` and thereby the block. ``engine serve`` is the
    command that does all of it, with many models under a policy besides.

    Parameters
    ----------
    models : mapping of str to path, Model or LazyModel
        By the name that clients ask for. A path is loaded when the server starts, and what cannot
        be in time, or would wait for more than a second, is refused then, as ``engine serve`` does.
    port, http_port : int
        Of gRPC and of HTTP; 0 lets the system choose, no HTTP port serves gRPC only.
    isolate : bool or mapping of str to sequence of str
        Whether each model, which is then a path, runs in a process of its own, or those of a group
        in one: what ends that process fails the queries that it has, and not the program.
    params
        The other fields of ``surplus.ServerParams``, as ``host`` or ``max_in_flight``.

    Raises
    ------
    ConfigError
        If there is no model, or one to isolate that is loaded here already.
    """

    def __init__(
        self,
        models: Mapping[str, str | Path | Model | LazyModel],
        port: int = 8001,
        http_port: int | None = None,
        isolate: bool | Mapping[str, Sequence[str]] = False,
        **params: Unpack[ServerOptions],
    ) -> None:
        if not models:
            raise ConfigError("a server needs a model")
        self._models = dict(models)
        self._isolated: IsolatedModels | None = None
        if isolate is not False:
            groups = {} if isolate is True else isolate
            self._isolated = IsolatedModels(models, groups, LoadParams(**_AS_SERVED))
            self._models = {}
        self._params = ServerParams(grpc_port=port, http_port=http_port, **params)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._over: Future[None] = Future()
        self._ports: tuple[int, int | None] | None = None
        self._finished = True
        self._server: AsyncServer | None = None

    def start(self) -> Self:
        """Load what is not loaded, listen, and return when queries are answered.

        Raises
        ------
        EngineError
            If a model cannot be loaded or served, or an address is taken; nothing is left behind.
        """
        with self._lock:
            if self._thread is not None:
                raise ConfigError("the server was started before")
            if (files := self._params.tls) is not None:
                server_context(files)  # says what is wrong before what takes long
            executors = {name: _executor(name, model) for name, model in self._models.items()}
            ports: Future[tuple[int, int | None]] = Future()
            thread = threading.Thread(
                target=lambda: asyncio.run(self._serve(executors, ports)),
                name="surplus server",
                daemon=True,
            )
            thread.start()
            try:
                self._ports = ports.result()
            except BaseException:  # Ctrl-C, too
                self._end(thread)
                raise
            self._thread = thread
        return self

    @property
    def address(self) -> str:
        """Host and port of gRPC.

        Raises
        ------
        ConfigError
            If it is not started.
        """
        return self._address(self._bound()[0])

    @property
    def metrics_address(self) -> str | None:
        """Host and port of metrics; None without ``metrics_port``. Raises the same."""
        self._bound()
        port = None if self._server is None else self._server.metrics_port
        return None if port is None else self._address(port)

    @property
    def http_address(self) -> str | None:
        """Host and port of HTTP; None if it is not served. Raises the same."""
        port = self._bound()[1]
        return None if port is None else self._address(port)

    @property
    def in_flight(self) -> int:
        """Queries between admission and answer, now."""
        return 0 if self._server is None else self._server.plane.in_flight

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until somebody stops it; whether that was so in time."""
        self._bound()
        assert self._thread is not None, "it was started"
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stop(self) -> bool:
        """Finish the queries in flight, close the models and listen no more. Again does nothing.

        Returns
        -------
        bool
            Whether all of them finished within ``drain_timeout_s``.
        """
        if self._thread is not None:
            self._end(self._thread)
        return self._finished

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self, thread: threading.Thread) -> None:
        with suppress(InvalidStateError):  # it was told so before
            self._over.set_result(None)
        thread.join()

    async def _serve(
        self, executors: Mapping[str, Servable], ports: Future[tuple[int, int | None]]
    ) -> None:
        self._server = server = AsyncServer(self._params)
        started = False
        processes: AbstractContextManager[Any] = self._isolated or nullcontext()
        with processes:
            try:
                for name, executor in executors.items():
                    server.plane.models.add(name).set_ready(executor)
                port = await server.start()
                started = True
                if self._isolated is not None:
                    await self._isolated.make_ready(server, self._params)
            except BaseException as error:
                await (server.stop() if started else asyncio.to_thread(server.plane.close))
                ports.set_exception(error)
                return
            ports.set_result((port, server.http_port))
            await asyncio.wrap_future(self._over)
            self._finished = await server.stop()

    def _bound(self) -> tuple[int, int | None]:
        if self._ports is None:
            raise ConfigError("the server is not started")
        return self._ports

    def _address(self, port: int) -> str:
        host = self._params.host
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _executor(name: str, model: str | Path | Model | LazyModel) -> Servable:
    if isinstance(model, LazyModel):
        return ModelExecutor(ServedLate(model, name=name))
    planned = model._planned if isinstance(model, Model) else load_planned(model, **_AS_SERVED)
    return ModelExecutor(ServedAlone(planned, name))
