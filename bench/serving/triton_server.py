"""Triton 2.51: ONNX Runtime within its Python backend, an instance a core."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bench.infrastructure.ports import free_port
from bench.neighbours.triton.environment import TritonEnvironment, server_options
from bench.neighbours.triton.model_files import TritonModelParams, write_model
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess


def start_triton(folder: Path, payloads: Mapping[str, Payload]) -> ServerProcess:
    """Serve them over gRPC and HTTP.

    Raises
    ------
    FileNotFoundError
        If there is no Triton here.
    """
    there = TritonEnvironment()
    there.link_backends(folder / "backends")
    for payload in payloads.values():
        params = TritonModelParams(payload.file, "onnxruntime", len(os.sched_getaffinity(0)))
        inputs = {name: ("FP32", array.shape) for name, array in payload.inputs.items()}
        outputs = {name: ("FP32", (1,) * rank) for name, rank in payload.outputs.items()}
        write_model(folder / "repository", payload.name, params, inputs, outputs)
    ports = {"grpc": free_port(), "http": free_port()}
    command = [there.server, *triton_options(folder, ports, payloads)]
    return ServerProcess(command, ports, payloads, folder / "log", there.variables())


def triton_options(
    folder: Path, ports: Mapping[str, int], payloads: Mapping[str, Payload]
) -> list[str]:
    """Of the server's command line: both protocols, for this machine alone."""
    return [
        *server_options(folder, ports["grpc"]),
        *(f"--load-model={name}" for name in payloads),
        "--http-address=127.0.0.1",
        f"--http-port={ports['http']}",
    ]
