"""A client a face: Triton's own, unmodified, which differ in how a call is made and read."""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio
from tritonclient.utils import InferenceServerException

_STATUSES = {
    "400": "INVALID_ARGUMENT",
    "404": "NOT_FOUND",
    "429": "RESOURCE_EXHAUSTED",
    "499": "CANCELLED",
    "500": "INTERNAL",
    "501": "UNIMPLEMENTED",
    "503": "UNAVAILABLE",
    "504": "DEADLINE_EXCEEDED",
}
_FRESH = itertools.count()
_WAIT_S = 30.0  # only a hang reaches it


@dataclass(frozen=True)
class Addresses:
    """Where a server answers, HOST:PORT."""

    grpc: str
    http: str


@dataclass(frozen=True)
class Part:
    """Shared memory of a registered region, for a tensor."""

    region: str
    size_bytes: int
    offset: int = 0


@dataclass(frozen=True)
class Given:
    """An input: an array, or where it lies."""

    name: str
    datatype: str
    shape: Sequence[int]
    data: np.ndarray | Part


@dataclass(frozen=True)
class Wanted:
    """An output, and how."""

    name: str
    classes: int = 0
    part: Part | None = None


def given(name: str, datatype: str, array: np.ndarray) -> Given:
    """An input that is sent."""
    return Given(name, datatype, array.shape, array)


class Client:
    """What cases ask with: one of Triton's clients.

    Parameters
    ----------
    module : module
        Of ``tritonclient``.
    url : str
        HOST:PORT.
    binary : bool or None
        Whether tensors travel as bytes; None where the client knows nothing else.
    """

    def __init__(self, module: ModuleType, url: str, binary: bool | None = None) -> None:
        self._module = module
        self._url = url
        self._options = {} if binary is None else {"binary_data": binary}
        self._client: Any = None
        self.is_http = module is tritonclient.http

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """One of the client's methods."""
        if self._client is None:
            self._client = self._module.InferenceServerClient(self._url)
        return getattr(self._client, method)(*arguments, **options)

    def close(self) -> None:
        """End its connections."""
        if self._client is not None:
            self._client.close()

    def infer(
        self, model: str, inputs: Sequence[Given], wanted: Sequence[Wanted] = (), **options: Any
    ) -> Any:
        """The client's result."""
        outputs = [self._output(output) for output in wanted]
        return self.call(
            "infer", model, [self._input(i) for i in inputs], outputs=outputs or None, **options
        )

    def answer(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """As ``infer``: datatype, shape and values of each output."""
        result = self.infer(*arguments, **options)
        return {name: (kind, shape, self._values(result, name, kind))
                for name, kind, shape in self.outputs(result)}  # fmt: skip

    def outputs(self, result: Any) -> list[tuple[str, str, list[int]]]:
        """Name, datatype and shape of each output."""
        response = result.get_response()
        rows = response["outputs"] if self.is_http else response.outputs
        if self.is_http:
            return [(row["name"], row["datatype"], row["shape"]) for row in rows]
        return [(row.name, row.datatype, list(row.shape)) for row in rows]

    def document(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What a call answers, as a document; numbers of 64 bits may be text."""
        if not self.is_http:
            options["as_json"] = True
        return self.call(method, *arguments, **options)

    def _values(self, result: Any, name: str, kind: str) -> list[Any]:
        array = result.as_numpy(name)
        if kind != "BYTES":
            return array.reshape(-1).tolist()
        flat = array.reshape(-1).tolist()
        return [text.encode() if isinstance(text, str) else text for text in flat]

    def _input(self, described: Given) -> Any:
        made = self._module.InferInput(described.name, list(described.shape), described.datatype)
        if isinstance(described.data, Part):
            part = described.data
            made.set_shared_memory(part.region, part.size_bytes, part.offset)
        else:
            made.set_data_from_numpy(described.data, **self._options)
        return made

    def _output(self, wanted: Wanted) -> Any:
        options = {} if wanted.part is not None else self._options
        made = self._module.InferRequestedOutput(wanted.name, class_count=wanted.classes, **options)
        if wanted.part is not None:
            part = wanted.part
            made.set_shared_memory(part.region, part.size_bytes, part.offset)
        return made


class AsyncClient(Client):
    """The same over a client of asyncio: a connection a call."""

    def __init__(self, module: ModuleType, url: str, asynchronous: ModuleType) -> None:
        super().__init__(module, url)
        self._asynchronous = asynchronous

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """One of the client's methods."""

        async def ask() -> Any:
            async with self._asynchronous.InferenceServerClient(self._url) as client:
                return await getattr(client, method)(*arguments, **options)

        return asyncio.run(ask())


class StreamClient(Client):
    """The same, whose queries go through a stream; it tells no statuses, only messages."""

    def infer(
        self, model: str, inputs: Sequence[Given], wanted: Sequence[Wanted] = (), **options: Any
    ) -> Any:
        """The client's result."""
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.call("start_stream", callback=lambda result, error: answers.put((result, error)))
        try:
            outputs = [self._output(output) for output in wanted]
            sent = [self._input(i) for i in inputs]
            self.call("async_stream_infer", model, sent, outputs=outputs or None, **options)
            result, error = answers.get(timeout=_WAIT_S)
        finally:
            self.call("stop_stream")
        if error is not None:
            raise error
        return result


STREAM = "grpc_stream"

CLIENTS: dict[str, Callable[[Addresses], Client]] = {
    "grpc": lambda at: Client(tritonclient.grpc, at.grpc),
    STREAM: lambda at: StreamClient(tritonclient.grpc, at.grpc),
    "grpc_aio": lambda at: AsyncClient(tritonclient.grpc, at.grpc, tritonclient.grpc.aio),
    "http": lambda at: Client(tritonclient.http, at.http, binary=True),
    "http_json": lambda at: Client(tritonclient.http, at.http, binary=False),
    "http_aio": lambda at: AsyncClient(tritonclient.http, at.http, tritonclient.http.aio),
}


def status(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What a call is refused with, in gRPC's words whatever the face; "OK" if it is not."""
    try:
        call(*arguments, **options)
    except InferenceServerException as error:
        code = (error.status() or "no status").removeprefix("StatusCode.")
        return _STATUSES.get(code, code)
    return "OK"


def said(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The message of a refusal; empty if there is none."""
    try:
        call(*arguments, **options)
    except InferenceServerException as error:
        return str(error.message())
    return ""


def fresh(what: str) -> str:
    """A name that nobody else uses."""
    return f"surplus-{what}-{os.getpid()}-{next(_FRESH)}"
