"""The native front end of a server: gRPC in C++ (engine/core/frontend), Python where it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import grpc

from surplus.engine import _core
from surplus.engine.serving.address import listening_sockets
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.grpc_face import GrpcFace
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.server_params import ServerParams
from surplus.engine.serving.shared_memory import SharedRegions
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


def listening_front(params: ServerParams, regions: SharedRegions) -> tuple[_core.Frontend, int]:
    """A front end that listens, and its port.

    Parameters
    ----------
    regions : SharedRegions
        Where clients may have put tensors.

    Raises
    ------
    ConfigError
        If the address cannot be bound.
    """
    sockets = listening_sockets(params.host, params.grpc_port)
    port: int = sockets[0].getsockname()[1]
    front = _core.Frontend(
        [socket.detach() for socket in sockets],
        regions.table,
        most_connections=params.max_connections,
        most_streams=params.max_streams,
        most_message_bytes=params.max_message_bytes,
        idle_ns=params.max_connections * _IDLE_NS_EACH,
        body_ns=int(params.max_body_s * 1e9),
    )
    return front, port


class NativeFront:
    """Tells a front end of models as they come and go.

    Parameters
    ----------
    front : _core.Frontend
        This object's from now on.
    handlers : sequence of grpc.GenericRpcHandler
        What answers the calls that the front end does not.
    max_in_flight : int
        Queries of one model.
    max_message_bytes : int
        Of a message, once it is decompressed.
    """

    def __init__(
        self,
        front: _core.Frontend,
        face: GrpcFace,
        handlers: Sequence[grpc.GenericRpcHandler],
        max_in_flight: int,
        max_message_bytes: int,
    ) -> None:
        self._most_in_flight = max_in_flight
        self._front = front
        self._calls = NativeCalls(self._front, handlers, face.answer_item, max_message_bytes)
        asyncio.get_running_loop().add_reader(self._front.event_fd, self._calls.take_events)

    def look_at(self, model: ServedModel) -> None:
        """Offer a model that is ready, or offer it no more; whenever its state has changed."""
        signature = model.ready_signature()
        if model.state is not ModelState.READY or signature is None:
            self._front.withdraw(model.name, model.version)
            return
        worker = model.executor.worker
        model.front = self._front.offer(
            model.name,
            model.version,
            [_port(spec) for spec in signature.inputs.values()],
            [_port(spec) for spec in signature.outputs.values()],
            model.executor.route,
            self._most_in_flight,
            worker,
        )
        if worker is not None:
            self._front.watch(worker)

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
