"""The gRPC face: one thin method an RPC of the Open Inference Protocol.

Requests reach us as bytes and are parsed here, so that malformed ones get a status of ours.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from typing import Any

import grpc

from surplus.engine.errors import InputError
from surplus.engine.serving import descriptions
from surplus.engine.serving.access import Access
from surplus.engine.serving.caller import caller_of_call
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.grpc_infer import (
    decode_outputs,
    decode_query,
    decode_urgency,
    encode_answer,
    plain_values,
)
from surplus.engine.serving.grpc_settings import SettingCalls
from surplus.engine.serving.grpc_shared_memory import SharedMemoryCalls
from surplus.engine.serving.grpc_status import status_of
from surplus.engine.serving.grpc_stream import answer_in_order, stream_answer, stream_failure
from surplus.engine.serving.load_request import override_of, wants_dependents
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.messages import SERVICE, message_type, request_types
from surplus.engine.serving.receipts import Receipts
from surplus.engine.serving.rights import Right
from surplus.engine.serving.step_counts import share_out
from surplus.engine.serving.wire import split_infer_request

Handler = Callable[[Any, Any], Awaitable[bytes]]

_BEGUN_BYTES = 1 << 16
"""What must be free for a call to begin: as much comes of it before anybody can say no."""


class GrpcFace:
    """Methods of the service; each takes and returns a message, ModelInfer bytes.

    Parameters
    ----------
    plane : DataPlane
        What answers.
    identity : ServerIdentity
        Who answers.
    receipts : Receipts
        Where queries wait for their message.
    access : Access, optional
        Who may ask which model; else anybody. Of other calls ``RightsChecked`` asks it.
    """

    def __init__(
        self,
        plane: DataPlane,
        identity: ServerIdentity,
        receipts: Receipts | None = None,
        access: Access | None = None,
    ) -> None:
        self._plane = plane
        self._identity = identity
        self._receipts = Receipts() if receipts is None else receipts
        self._access = access or Access()

    def service_handler(self) -> grpc.GenericRpcHandler:
        """Handler to register with a ``grpc.aio`` server; calls that it lacks are UNIMPLEMENTED."""
        methods: dict[str, Callable[[Any], Any]] = {
            "ServerLive": self.server_live,
            "ServerReady": self.server_ready,
            "ServerMetadata": self.server_metadata,
            "ModelReady": self.model_ready,
            "ModelMetadata": self.model_metadata,
            "ModelConfig": self.model_config,
            "ModelStatistics": self.model_statistics,
            "RepositoryIndex": self.repository_index,
            "RepositoryModelLoad": self.repository_model_load,
            "RepositoryModelUnload": self.repository_model_unload,
            **SharedMemoryCalls(self._plane.regions).methods(),
            **SettingCalls(self._plane).methods(),
        }
        types = request_types()
        handlers = {name: _parsing(types[name], method) for name, method in methods.items()}
        rpcs = {
            name: grpc.unary_unary_rpc_method_handler(guarded(handler))
            for name, handler in handlers.items()
        }
        # As a stream of one message: it begins before that has come, and may end then, too.
        rpcs["ModelInfer"] = grpc.stream_unary_rpc_method_handler(guarded(self._received))
        rpcs["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(self.model_stream_infer)
        return grpc.method_handlers_generic_handler(SERVICE, rpcs)

    async def _received(self, _: Any, context: Any) -> bytes:
        """Run the query of a call once its message has come."""
        with MemoryShare(self._plane.memory) as share:
            share.take(_BEGUN_BYTES, "a call")
        return await self.model_infer(await self._receipts.only(context.read), context)

    async def model_infer(self, data: bytes, context: Any) -> bytes:
        """Run a query. gRPC cancels this task when the client cancels or its deadline passes."""
        share = MemoryShare(self._plane.memory)
        context.add_done_callback(lambda _: share.give_all())  # the answer is written then
        return await self._infer(data, context, share)

    async def _infer(self, data: bytes, context: Any, share: MemoryShare) -> bytes:
        received_ns = self._plane.clock_ns()
        share.take(len(data), "the request")
        request, raw_inputs = split_infer_request(data, share)
        self._access.check(caller_of_call(context), Right.INFER, request.model_name)
        model = self._plane.admit(request.model_name, request.model_version)
        remaining_s = context.time_remaining()
        self._plane.foresee(model, *decode_urgency(request, received_ns, remaining_s))
        regions = self._plane.regions
        trace_parent = _trace_parent(context)
        query = decode_query(
            request, raw_inputs, received_ns, remaining_s, regions, share, trace_parent
        )
        wanted = decode_outputs(request, regions)
        return await self._plane.infer(
            model, query, lambda outputs: encode_answer(model, request.id, wanted, outputs, share)
        )

    async def model_stream_infer(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """Run the queries of a stream; one that fails says so in its answer, the others go on."""

        async def answer(data: bytes, share: MemoryShare) -> bytes:
            return await self._answer_item(data, context, share)

        async def messages() -> AsyncIterator[bytes]:
            while (data := await self._receipts.next(context.read, is_stream=True)) is not None:
                yield data

        await answer_in_order(messages(), answer, context.write, self._plane.memory)

    async def answer_item(self, data: bytes, context: Any) -> bytes:
        """Answer one query of a stream; raises nothing."""
        with MemoryShare(self._plane.memory) as share:
            return await self._answer_item(data, context, share)

    async def _answer_item(self, data: bytes, context: Any, share: MemoryShare) -> bytes:
        try:
            return stream_answer(await self._infer(data, context, share))
        except Exception as error:
            return stream_failure(data, error)

    def server_live(self, request: Any) -> Any:
        """Whether the server answers at all."""
        return message_type("ServerLiveResponse")(live=True)

    def server_ready(self, request: Any) -> Any:
        """Whether every model is ready and queries are admitted."""
        return message_type("ServerReadyResponse")(ready=self._plane.ready)

    def server_metadata(self, request: Any) -> Any:
        """Name, version and extensions of the server."""
        document = descriptions.server_metadata(self._identity, ())
        return message_type("ServerMetadataResponse")(**document)

    def model_ready(self, request: Any) -> Any:
        """Whether a model is ready; false for one that is unknown, as Triton answers."""
        ready = self._plane.models.is_ready(request.name, request.version)
        return message_type("ModelReadyResponse")(ready=ready)

    def model_metadata(self, request: Any) -> Any:
        """Versions and signature of a model."""
        models = self._plane.models
        model = models.find(request.name, request.version)
        document = descriptions.model_metadata(model, models.versions(model.name))
        return message_type("ModelMetadataResponse")(**document)

    def model_config(self, request: Any) -> Any:
        """A model's configuration, completed."""
        model = self._plane.models.find(request.name, request.version)
        config = descriptions.model_config(model)
        return message_type("ModelConfigResponse")(config=config)

    def model_statistics(self, request: Any) -> Any:
        """Counters of one model, of all its versions, or of all models."""
        share_out(self._plane.models)
        models = self._plane.models.select(request.name, request.version)
        return message_type("ModelStatisticsResponse")(**descriptions.model_statistics(models))

    async def repository_index(self, request: Any) -> Any:
        """State of every version of every model."""
        _check_repository(request)
        unlisted = await self._plane.unlisted()
        rows = descriptions.repository_index(self._plane.models, unlisted, ready_only=request.ready)
        return message_type("RepositoryIndexResponse")(models=rows)

    async def repository_model_load(self, request: Any) -> Any:
        """Put a model into service, as its files are."""
        _check_repository(request)
        control, name = self._plane.controlled(), request.model_name
        await control.load(name, override_of(name, plain_values(request.parameters)))
        return message_type("RepositoryModelLoadResponse")()

    async def repository_model_unload(self, request: Any) -> Any:
        """Take a model out of service."""
        _check_repository(request)
        control, name = self._plane.controlled(), request.model_name
        dependents = wants_dependents(name, plain_values(request.parameters))
        await control.unload(name, dependents=dependents)
        return message_type("RepositoryModelUnloadResponse")()


def _check_repository(request: Any) -> None:
    if request.repository_name:
        raise InputError("repository_name: the server has one repository, leave it empty")


def _parsing(request_type: Any, method: Callable[[Any], Any]) -> Handler:
    async def handle(data: bytes, context: Any) -> bytes:
        answer = method(request_type.FromString(data))
        if isawaitable(answer):
            answer = await answer
        serialized: bytes = answer.SerializeToString()
        return serialized

    return handle


def guarded(handler: Handler) -> Handler:
    """The same, whose errors are the protocol's statuses."""

    async def handle(data: Any, context: Any) -> bytes:
        try:
            return await handler(data, context)
        except Exception as error:
            code, details = status_of(error)
        del data  # which the frames of what abort raises would hold for long
        await context.abort(code, details)
        raise AssertionError("abort raises")

    return handle


def _trace_parent(context: Any) -> str:
    """W3C's header of a call; empty without one."""
    said = context.invocation_metadata() or ()
    return next((str(value) for name, value in said if name == "traceparent"), "")
