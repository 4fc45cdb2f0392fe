"""Executors in plain numpy, and a server in a thread, for the tests of serving."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import tritonclient.grpc as triton

from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams

WAIT_S = 30.0  # only a hang reaches it


class Function:
    """An executor that calls a function of its inputs."""

    def __init__(self, function: Callable, inputs, outputs) -> None:
        self._function = function
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.calls: list[tuple[tuple[str, ...] | None, int | None, int]] = []
        self.config = None
        self.closed = False
        self.queued_ns = 0
        self.joined = 0
        self.batches = {}
        self.warning = ""
        self.held = ""
        self.facts = {"kernels": "of a test"}
        self.route = None
        self.worker = None
        self.failure = ""
        self.refusal: Exception | None = None
        """What its queries are refused for before they are decoded."""

    def foresee(self, deadline_ns, priority=0):
        if self.refusal is not None:
            raise self.refusal

    async def infer(self, inputs, outputs, deadline_ns, priority=0):
        self.calls.append((outputs, deadline_ns, priority))
        return self._function(inputs)

    def close(self) -> None:
        self.closed = True


class Gate(Function):
    """An identity that waits at a gate; tells who entered and who was cancelled."""

    def __init__(self) -> None:
        spec = TensorSpec("x", "FP32", (-1,))
        super().__init__(
            lambda inputs: {"y": inputs["x"]}, [spec], [TensorSpec("y", "FP32", (-1,))]
        )
        self.open = asyncio.Event()
        self.entered = threading.Semaphore(0)
        self.cancelled = threading.Semaphore(0)

    async def infer(self, inputs, outputs, deadline_ns, priority=0):
        self.entered.release()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        return await super().infer(inputs, outputs, deadline_ns, priority)


def identity(datatype: str = "FP32", shape: tuple[int, ...] | None = (-1,)) -> Function:
    return Function(
        lambda inputs: {"y": inputs["x"]},
        [TensorSpec("x", datatype, shape)],
        [TensorSpec("y", datatype, shape)],
    )


def arithmetic() -> Function:
    """Sum and difference of two matrices; an optional bias is added to the sum."""
    matrix = (-1, 4)
    return Function(
        lambda inputs: {
            "sum": inputs["a"] + inputs["b"] + inputs.get("bias", np.float32(0)),
            "difference": inputs["a"] - inputs["b"],
        },
        [
            TensorSpec("a", "FP32", matrix),
            TensorSpec("b", "FP32", matrix),
            TensorSpec("bias", "FP32", (1,), optional=True),
        ],
        [TensorSpec("sum", "FP32", matrix), TensorSpec("difference", "FP32", matrix)],
    )


def failing(error: Exception) -> Function:
    def fail(inputs):
        raise error

    executor = identity()
    executor._function = fail
    return executor


def tensor(name: str, array: np.ndarray, datatype: str) -> triton.InferInput:
    """An input of Triton's client."""
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def ask_async(client: triton.InferenceServerClient, model: str, inputs: list) -> queue.SimpleQueue:
    """Send a query; the queue gets its (answer, error)."""
    answers: queue.SimpleQueue = queue.SimpleQueue()
    client.async_infer(model, inputs, callback=lambda result, error: answers.put((result, error)))
    return answers


class ServerThread:
    """A server on an event loop of its own, so that blocking clients can call it."""

    def __init__(self, params: ServerParams) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.server: AsyncServer = self.run(self._make(params))
        self.port: int = self.run(self.server.start())
        self.url = f"127.0.0.1:{self.port}"
        self.http_url = f"127.0.0.1:{self.server.http_port}"

    async def _make(self, params: ServerParams) -> AsyncServer:
        return AsyncServer(params)

    def run(self, coroutine: Coroutine) -> Any:
        """Run a coroutine on the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT_S)

    def call(self, function: Callable, *arguments: Any) -> Any:
        """Call a function on the server's loop."""

        async def call() -> Any:
            return function(*arguments)

        return self.run(call())

    def serve(self, name: str, executor: Any, version: str = "1") -> Any:
        """Serve an executor; returns it."""
        self.call(lambda: self.server.plane.models.add(name, version).set_ready(executor))
        return executor

    def gate(self, name: str) -> Gate:
        """Serve a new gate."""
        return self.serve(name, self.call(Gate))

    def stop(self) -> None:
        self.run(self.server.stop())
        self.end()

    def end(self) -> None:
        """End the loop of a server that has stopped."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
