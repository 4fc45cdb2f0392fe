"""Bare grpc.aio before ONNX Runtime: what one would write oneself."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from bench.infrastructure.ports import free_port
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess


def start_grpc_aio(folder: Path, payloads: Mapping[str, Payload]) -> ServerProcess:
    """Serve them over gRPC."""
    port = free_port()
    files = [f"{payload.name}={payload.file}" for payload in payloads.values()]
    command = [sys.executable, "-m", "bench.serving.grpc_aio_server", str(port), *files]
    return ServerProcess(command, {"grpc": port}, payloads, folder / "log")
