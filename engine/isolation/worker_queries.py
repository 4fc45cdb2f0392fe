"""Queries that this process's Python sends to a worker: REST's, and those that are not plain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import grpc

from surplus.engine import _core, errors
from surplus.engine.serving.codec import decode_raw, encode_raw
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.sequences.sequence_step import END, ID, START, SequenceStep, asked_step
from surplus.engine.serving.servable import Array
from surplus.engine.serving.wire import join_infer_request

_InferRequest = message_type("ModelInferRequest")
_InferResponse = message_type("ModelInferResponse")

_ERRORS: dict[int, type[errors.EngineError]] = {
    grpc.StatusCode.INVALID_ARGUMENT.value[0]: errors.InputError,
    grpc.StatusCode.NOT_FOUND.value[0]: errors.UnknownModelError,
    grpc.StatusCode.UNIMPLEMENTED.value[0]: errors.UnsupportedError,
    grpc.StatusCode.UNAVAILABLE.value[0]: errors.UnavailableError,
    grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]: errors.MemoryLimitError,
    grpc.StatusCode.DEADLINE_EXCEEDED.value[0]: errors.DeadlineError,
    grpc.StatusCode.CANCELLED.value[0]: errors.CancelledError,
}
_REFUSALS: dict[str, type[errors.EngineError]] = {
    "late": errors.RefusedError,
    "queue": errors.TurnedAwayError,
}
GONE = "the process that runs the model has ended; it is being started again"

Answer = tuple[int, str, bytes]
"""gRPC's status, what the query was refused for, and a response or why there is none."""


class WorkerQueries:
    """Sends queries over one link and hears of their answers. On a running event loop.

    Parameters
    ----------
    pumps : bool
        Whether nobody else reads the link: there is no native front end.
    gone : str
        What is said where nobody is there to answer.
    """

    def __init__(self, link: _core.QueryLink, *, pumps: bool, gone: str = GONE) -> None:
        self._link = link
        self._gone = gone
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._last = 0
        self._pumps = pumps
        loop = asyncio.get_running_loop()
        loop.add_reader(link.answers_fd, self._take)
        if pumps:
            loop.add_reader(link.fd, self._pump)

    def close(self) -> None:
        """Hear of no further answer: the worker is gone."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._link.answers_fd)
        if self._pumps:
            loop.remove_reader(self._link.fd)
        self._take()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(errors.UnavailableError(self._gone))

    async def ask(self, request: bytes, deadline_ns: int | None) -> bytes:
        """A response to a request, both serialised; cancelling cancels the query.

        Raises
        ------
        EngineError
            Saying why there is none.
        """
        self._last = number = self._last + 1
        try:
            tag = self._link.submit(request, deadline_ns or 0, number)
        except MemoryError:
            text = "the server's memory limit was reached; ask again"
            raise errors.MemoryLimitError(text) from None
        if tag is None:
            raise errors.UnavailableError(self._gone)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            status, refusal, content = await future
        except asyncio.CancelledError:
            self._link.cancel(tag)
            raise
        finally:
            self._waiting.pop(number, None)
        if status == grpc.StatusCode.OK.value[0]:
            return content
        text = content.decode(errors="replace")
        raise (_REFUSALS.get(refusal) or _ERRORS.get(status, errors.ExecutionError))(text)

    def _pump(self) -> None:
        if not self._link.pump():
            asyncio.get_running_loop().remove_reader(self._link.fd)

    def _take(self) -> None:
        for number, status, refusal, content in self._link.take_answers():
            future = self._waiting.get(number)
            if future is not None and not future.done():
                future.set_result((status, refusal, content))


def request_of(
    model: tuple[str, str],
    inputs: Mapping[str, Array],
    outputs: Sequence[str] | None,
    priority: int,
) -> bytes:
    """A ``ModelInferRequest`` for a name and version, its tensors raw, of this task's sequence."""
    request = _InferRequest(model_name=model[0], model_version=model[1])
    if priority:
        request.parameters["priority"].uint64_param = priority
    if (step := asked_step()) is not None:
        _add_step(request.parameters, step)
    for name, array in inputs.items():
        request.inputs.add(name=name, datatype=datatype_of(array), shape=array.shape)
    for name in outputs or ():
        request.outputs.add(name=name)
    return join_infer_request(request, [encode_raw(array) for array in inputs.values()])


def _add_step(parameters: Any, step: SequenceStep) -> None:
    if isinstance(step.id, str):
        parameters[ID].string_param = step.id
    elif step.id < 0:
        parameters[ID].int64_param = step.id
    else:
        parameters[ID].uint64_param = step.id
    parameters[START].bool_param = step.starts
    parameters[END].bool_param = step.ends


def outputs_of(response: bytes) -> dict[str, Array]:
    """Outputs of a ``ModelInferResponse``.

    Raises
    ------
    ExecutionError
        If it is none: the worker is not what it was.
    """
    try:
        answer: Any = _InferResponse.FromString(response)
        pairs = zip(answer.outputs, answer.raw_output_contents, strict=True)
        return {out.name: decode_raw(out.name, out.datatype, out.shape, raw) for out, raw in pairs}
    except Exception as error:
        raise errors.ExecutionError(f"the model's process gave no answer: {error}") from error
