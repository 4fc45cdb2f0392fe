"""Python servers of others, each in the environment that ``make peers`` builds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.serving.loads import RestRequest
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.rest_request import infer_post, rest_request
from surplus.loadgen.clients.tensors import RawTensor

ENVIRONMENT = FOLDER.parent / "peers"
_PROGRAMS = Path(__file__).with_name("peers")


def peer_missing(package: str, folder: Path = ENVIRONMENT) -> Callable[[], str | None]:
    """Tells why a package's server cannot be asked here; None where it can."""

    def missing() -> str | None:
        if any(folder.glob(f"lib/python3.*/site-packages/{package}/__init__.py")):
            return None
        return f"no {package} in {folder} (`make peers` fetches it)"

    return missing


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What they are started with: their Python's packages, and nothing of ours."""
    own = {key: value for key, value in given.items() if not key.startswith("PYTHON")}
    return own | {"PYTHONPATH": str(_PROGRAMS), "PATH": f"{ENVIRONMENT / 'bin'}:{own['PATH']}"}


def _started(
    folder: Path,
    payloads: Mapping[str, Payload],
    ports: Mapping[str, int],
    words: Sequence[object],
    rest: RestRequest = rest_request,
) -> ServerProcess:
    command = [ENVIRONMENT / "bin" / "python", *map(str, words)]
    return ServerProcess(command, ports, payloads, folder / "log", environment(), rest)


def _files(payloads: Mapping[str, Payload]) -> list[str]:
    return [f"{payload.name}={payload.file}" for payload in payloads.values()]


def start_kserve(folder: Path, payloads: Mapping[str, Payload]) -> ServerProcess:
    """KServe's model server, over gRPC and HTTP."""
    ports = {"grpc": free_port(), "http": free_port()}
    program = _PROGRAMS / "kserve_server.py"
    words = [program, ports["grpc"], ports["http"], *_files(payloads)]
    return _started(folder, payloads, ports, words)


def start_mlserver(folder: Path, payloads: Mapping[str, Payload]) -> ServerProcess:
    """MLServer without workers, which cost more than they gave; it has no binary REST."""
    ports = {"grpc": free_port()}
    models = folder / "models"
    for payload in payloads.values():
        (models / payload.name).mkdir(parents=True)
        settings = {
            "name": payload.name,
            "implementation": "mlserver_model.MLServerModel",
            "parameters": {"uri": str(payload.file)},
        }
        (models / payload.name / "model-settings.json").write_text(json.dumps(settings))
    (models / "settings.json").write_text(json.dumps(mlserver_settings(ports)))
    words = ["-c", "from mlserver.cli import main; main()", "start", models]
    return _started(folder, payloads, ports, words)


def mlserver_settings(ports: Mapping[str, int]) -> dict[str, object]:
    """Of the server: for this machine alone, without metrics and limits of messages."""
    return {
        "host": "127.0.0.1",
        "grpc_port": ports["grpc"],
        "http_port": free_port(),
        "parallel_workers": 0,
        "metrics_endpoint": None,
        "metrics_port": free_port(),
        "grpc_max_message_length": -1,
        "debug": False,
    }


def start_litserve(folder: Path, payloads: Mapping[str, Payload]) -> ServerProcess:
    """LitServe with a worker a core, over HTTP with JSON."""
    port = free_port()
    words = [_PROGRAMS / "litserve_server.py", port, *_files(payloads)]
    return _started(folder, payloads, {"http": port}, words, json_request)


def json_request(
    address: HostPort, model: str, version: str, tensors: Sequence[RawTensor]
) -> bytes:
    """As ``rest_request``, of float32 as numbers in JSON, for who takes no bytes."""
    inputs = [
        {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "datatype": tensor.datatype,
            "data": np.frombuffer(tensor.raw, np.float32).tolist(),
        }
        for tensor in tensors
    ]
    body = json.dumps({"inputs": inputs}).encode()
    return infer_post(address, model, "", {"Content-Type": "application/json"}, body)
