"""The native front end of a server: C++ (engine/core/frontend), Python where that asks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import grpc

from surplus.engine import _core
from surplus.engine.serving.address import listening_sockets
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.grpc_face import GrpcFace
from surplus.engine.serving.http_face import HttpFace
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.native_requests import NativeRequests
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.server_params import ServerParams
from surplus.engine.values import elem_type_of

_LOOK_S = 0.005
# How long a connection without queries stays, times their number; clients open others themselves.
_IDLE_NS_EACH = 100_000_000

_Port = tuple[str, str, int, Sequence[int] | None]


def missing_library() -> str:
    """Why there can be no native front end; empty if there can."""
    try:
        _core.Frontend.check()
    except RuntimeError as error:
        return str(error)
    return ""


def missing_parser() -> str:
    """Why it cannot speak HTTP/1.1; empty if it can."""
    return _core.Frontend.rest_missing()


class NativeFront:
    """Listens, and tells the front end of models as they come and go.

    Parameters
    ----------
    handlers : sequence of grpc.GenericRpcHandler
        What answers the calls that the front end does not.
    rest : HttpFace or None
        What answers over HTTP; None: nothing is listened for.

    Raises
    ------
    ConfigError
        If an address cannot be bound.
    """

    def __init__(
        self,
        params: ServerParams,
        face: GrpcFace,
        handlers: Sequence[grpc.GenericRpcHandler],
        plane: DataPlane,
        rest: HttpFace | None,
    ) -> None:
        sockets = listening_sockets(params.host, params.grpc_port)
        self.port: int = sockets[0].getsockname()[1]
        self.http_port: int | None = self.port if params.one_port else None
        http_sockets: list[socket.socket] = []
        if rest is not None and params.http_port is not None:
            try:
                http_sockets = listening_sockets(params.host, params.http_port)
            except BaseException:
                for bound in sockets:
                    bound.close()
                raise
            self.http_port = http_sockets[0].getsockname()[1]
        self._most_in_flight = params.max_in_flight
        self._front = _core.Frontend(
            [
                *((bound.detach(), "either" if params.one_port else "grpc") for bound in sockets),
                *((bound.detach(), "rest") for bound in http_sockets),
            ],
            plane.regions.table,
            most_connections=params.max_connections,
            most_streams=params.max_streams,
            most_message_bytes=params.max_message_bytes,
            idle_ns=params.max_connections * _IDLE_NS_EACH,
            body_ns=int(params.max_body_s * 1e9),
        )
        self._calls = NativeCalls(
            self._front,
            handlers,
            face.answer_item,
            params.max_message_bytes,
            None if rest is None else NativeRequests(self._front, rest, plane),
        )
        asyncio.get_running_loop().add_reader(self._front.event_fd, self._calls.take_events)

    def look_at(self, model: ServedModel) -> None:
        """Offer a model that is ready, or offer it no more; whenever its state has changed."""
        signature = model.ready_signature()
        if model.state is not ModelState.READY or signature is None:
            self._front.withdraw(model.name, model.version)
            return
        model.front = self._front.offer(
            model.name,
            model.version,
            [_port(spec) for spec in signature.inputs.values()],
            [_port(spec) for spec in signature.outputs.values()],
            model.executor.route,
            self._most_in_flight,
        )

    def drain(self) -> None:
        """Answer no further query but by Python, which says why."""
        self._front.drain()

    def abandon(self) -> None:
        """Cancel what is in flight."""
        self._front.abandon()

    def end_receipts(self) -> None:
        """End calls whose messages are on their way: the process holds all that it may."""
        self._front.end_receipts()

    @property
    def in_flight(self) -> int:
        """Queries that Python does not know of."""
        return self._front.in_flight

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until none is in flight; False if some still are after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._front.in_flight:
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            return False
        return True

    async def stop(self, grace_s: float) -> None:
        """Listen no more, let answers be written, end."""
        await asyncio.to_thread(self._front.stop, grace_s)
        asyncio.get_running_loop().remove_reader(self._front.event_fd)
        await self._calls.close()


def _port(spec: TensorSpec) -> _Port:
    elem_type = elem_type_of(DATATYPES[spec.dtype].dtype)
    return spec.name, spec.dtype, elem_type, spec.shape
