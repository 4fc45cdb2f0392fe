"""Ours: ``engine serve`` as it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess


def start_surplus(
    folder: Path, payloads: Mapping[str, Payload], options: Sequence[str] = ()
) -> ServerProcess:
    """Serve a repository of them over gRPC and HTTP."""
    repository = folder / "repository"
    for payload in payloads.values():
        version = repository / payload.name / "1"
        version.mkdir(parents=True)
        (version / "model.onnx").symlink_to(payload.file)
    ports = {"grpc": free_port(), "http": free_port()}
    command = [
        Path(sys.executable).with_name("engine"),
        *("serve", repository, "--cache", FOLDER / "cache"),
        *("--port", str(ports["grpc"]), "--http-port", str(ports["http"])),
        *options,
    ]
    return ServerProcess(command, ports, payloads, folder / "log")
