"""One query of the pipeline: as an ensemble, and as its steps called one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tritonclient.grpc as grpc

from bench.ensemble.repositories import ENSEMBLE
from bench.ensemble.steps import INPUT, OUTPUTS, PipelineStep

File = np.ndarray[Any, Any]
Arrays = dict[str, File]


class PipelineClient:
    """A client of one server, that waits for each answer.

    Parameters
    ----------
    port : int
        Of gRPC, on this machine.
    steps : sequence of PipelineStep
        In the order of their running.
    """

    def __init__(self, port: int, steps: Sequence[PipelineStep]) -> None:
        self._client = grpc.InferenceServerClient(f"127.0.0.1:{port}")
        self._steps = steps

    def whole(self, file: File) -> Arrays:
        """By the ensemble."""
        return self._asked(
            ENSEMBLE, {INPUT: INPUT}, {name: name for name in OUTPUTS}, {INPUT: file}
        )

    def in_turn(self, file: File) -> Arrays:
        """By its steps: what one answers is sent with the next one's query."""
        known = {INPUT: file}
        for step in self._steps:
            known |= self._asked(step.name, step.reads, step.makes, known)
        return {name: known[name] for name in OUTPUTS}

    def _asked(
        self, model: str, reads: Mapping[str, str], makes: Mapping[str, str], known: Arrays
    ) -> Arrays:
        given = [_input(name, known[tensor]) for name, tensor in reads.items()]
        wanted = [grpc.InferRequestedOutput(name) for name in makes]
        answer = self._client.infer(model, given, outputs=wanted)
        return {tensor: answer.as_numpy(name) for name, tensor in makes.items()}

    def close(self) -> None:
        """Leave the server."""
        self._client.close()


def times_ns(
    ask: Callable[[np.ndarray[Any, Any]], object], file: np.ndarray[Any, Any], seconds: float
) -> list[int]:
    """Of queries one after another for so long, the first one not counted."""
    ask(file)
    taken: list[int] = []
    until_ns = time.monotonic_ns() + round(seconds * 1e9)
    while not taken or time.monotonic_ns() < until_ns:
        began_ns = time.monotonic_ns()
        ask(file)
        taken.append(time.monotonic_ns() - began_ns)
    return taken


def _input(name: str, array: np.ndarray[Any, Any]) -> grpc.InferInput:
    kind = {"uint8": "UINT8", "float32": "FP32"}[str(array.dtype)]
    given = grpc.InferInput(name, list(array.shape), kind)
    given.set_data_from_numpy(array)
    return given
