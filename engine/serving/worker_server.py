"""The server within a worker (engine/isolation): its only client is the server that started it."""

from __future__ import annotations

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.serving.data_plane import DataPlane, DataPlaneParams
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.grpc_face import GrpcFace
from surplus.engine.serving.limited_memory import LimitedMemory
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.native_front import NativeFront
from surplus.engine.serving.receipts import Receipts
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.shared_memory import SharedRegions


class WorkerServer:
    """Answers what comes over a ``_core.WorkerLink``. On a running event loop.

    Parameters
    ----------
    max_in_flight, max_message_bytes : int
        As of the server.
    ends : (int, int, int)
        Of the link.

    Attributes
    ----------
    others_bytes : int
        What the server and its other workers hold of the memory that all may.
    """

    def __init__(
        self, max_in_flight: int, max_message_bytes: int, ends: tuple[int, int, int]
    ) -> None:
        self.others_bytes = 0
        self._plane = DataPlane(DataPlaneParams(max_in_flight))
        self._plane.regions = SharedRegions(max_message_bytes, is_open=False)
        face = GrpcFace(self._plane, ServerIdentity("surplus worker"), Receipts())
        front = _core.Frontend(
            [],
            self._plane.regions.table,
            most_connections=1,
            most_streams=1,
            most_message_bytes=max_message_bytes,
            idle_ns=0,
            body_ns=0,
            server=ends,
        )
        handlers = (face.service_handler(),)
        calls = NativeCalls(front, handlers, face.answer_item, max_message_bytes, None)
        native = NativeFront(front, calls, max_in_flight)
        self._plane.front = native
        native.watch(self._plane.models)
        self._memory: LimitedMemory | None = None

    def add(self, name: str, version: str) -> ServedModel:
        """Enter a model, as ``ModelTable.add``."""
        return self._plane.models.add(name, version)

    def limit_memory(self, limit_bytes: int) -> None:
        """Refuse what would exceed the limit, with all that the others hold."""
        self._memory = LimitedMemory(
            limit_bytes, lambda whatever: None, lambda: resident_bytes() + self.others_bytes
        )
        self._plane.memory = self._memory.account
