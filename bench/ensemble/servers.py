"""Who serves the pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.ensemble.repositories import ENSEMBLE, write_ours, write_tritons
from bench.ensemble.steps import INPUT, PipelineStep
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.neighbours.triton.environment import TritonEnvironment, server_options
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess

Payloads = Mapping[str, Payload]
Start = Callable[[Path, Payloads, Sequence[PipelineStep]], ServerProcess]


def start_ours(folder: Path, payloads: Payloads, steps: Sequence[PipelineStep]) -> ServerProcess:
    """``engine serve`` as it is; the first payload is what it warms up with."""
    own = folder / "surplus"
    first = next(iter(payloads.values()))
    write_ours(own / "repository", steps, first.inputs[INPUT].tobytes())
    ports = {"grpc": free_port()}
    engine = Path(sys.executable).with_name("engine")
    words = (own / "repository", "--cache", FOLDER / "cache", "--port", str(ports["grpc"]))
    return ServerProcess([engine, "serve", *words], ports, payloads, own / "log")


def start_tritons(folder: Path, payloads: Payloads, steps: Sequence[PipelineStep]) -> ServerProcess:
    """Triton, with ONNX Runtime in its Python backend, an instance a core of each step.

    Raises
    ------
    FileNotFoundError
        If it is not here.
    """
    there, own = TritonEnvironment(), folder / "triton"
    there.link_backends(own / "backends")
    write_tritons(own / "repository", steps)
    ports = {"grpc": free_port()}
    loads = [f"--load-model={name}" for name in (*(step.name for step in steps), ENSEMBLE)]
    command = [there.server, *server_options(own, ports["grpc"]), "--allow-http=false", *loads]
    return ServerProcess(command, ports, payloads, own / "log", there.variables())


TRITON = "triton 2.51"
SERVERS: Mapping[str, Start] = {"surplus": start_ours, TRITON: start_tritons}
