"""Put the cases to a real Triton, and say where it answers otherwise than we do.

::

    make triton && python -m tests.serving.conformance.oracle

What cases name as Triton's own is expected, and not said.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tritonclient.utils import InferenceServerException

from bench.neighbours.triton.environment import TritonEnvironment, missing
from tests.serving.conformance.all_cases import CASES
from tests.serving.conformance.case import NOT_ASKED
from tests.serving.conformance.clients import CLIENTS, Addresses, Client
from tests.serving.conformance.models import SmallModel, models

_STARTS_S = 90.0
_BACKEND = """\
import numpy as np
import triton_python_backend_utils as backend


class TritonPythonModel:
    def execute(self, requests):
        return [self._answered(request) for request in requests]

    def _answered(self, request):
        inputs = {{tensor.name(): tensor.as_numpy() for tensor in request.inputs()}}
        outputs = answer(inputs)
        wanted = [name for name in outputs if name in request.requested_output_names()]
        return backend.InferenceResponse([backend.Tensor(name, outputs[name]) for name in wanted])


def answer(inputs):
    {body}
"""
_BYTES_OF_BF16 = """\
import triton_python_backend_utils as backend


class TritonPythonModel:
    def execute(self, requests):
        return [self._answered(request) for request in requests]

    def _answered(self, request):
        (tensor,) = request.inputs()
        made = backend.Tensor.from_dlpack("y", tensor.to_dlpack())
        return backend.InferenceResponse([made])
"""


def main() -> int:
    """Print the differences; 1 if there are any."""
    if (why := missing()) is not None:
        print(why)
        return 2
    with tempfile.TemporaryDirectory() as folder, _triton(Path(folder)) as addresses:
        found = list(differences(addresses))
    print("\n".join(found) or "no difference")
    print(f"{len(found)} differences, {len(CASES)} cases, {len(CLIENTS)} clients")
    return 1 if found else 0


def differences(addresses: Addresses) -> Iterator[str]:
    """A line a case and face that answers otherwise than is expected."""
    for face, make in CLIENTS.items():
        client = make(addresses)
        for case in CASES:
            if not case.is_for(face) or case.triton == NOT_ASKED:
                continue
            expected = case.expected if case.triton is None else case.triton
            answered = _asked(case.run, client)
            if answered != expected:
                yield f"{face}, {case.name}: ours {expected!r}, Triton's {answered!r}"
        client.close()


def _asked(run: Any, client: Client) -> Any:
    try:
        return run(client)
    except Exception as error:  # whatever the client makes of it: said, and the next one asked
        return f"{type(error).__name__}: {error}"


@contextmanager
def _triton(folder: Path) -> Iterator[Addresses]:
    """A Triton that serves the models."""
    there = TritonEnvironment()
    there.link_backends(folder / "backends")
    for model in models():
        _write(folder / "repository", model)
    grpc, http = _free_ports()
    command = [
        str(there.server),
        f"--model-repository={folder / 'repository'}",
        f"--backend-directory={folder / 'backends'}",
        "--disable-auto-complete-config",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={grpc}",
        "--http-address=127.0.0.1",
        f"--http-port={http}",
        "--allow-metrics=false",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=there.variables(os.environ), stdout=log, stderr=log, text=True
        )
    try:
        addresses = Addresses(f"127.0.0.1:{grpc}", f"127.0.0.1:{http}")
        _await(process, CLIENTS["grpc"](addresses), folder / "log")
        yield addresses
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()


def _await(process: subprocess.Popen[str], client: Client, log: Path) -> None:
    until = time.monotonic() + _STARTS_S
    while True:
        try:
            if client.call("is_server_ready"):
                return client.close()
        except InferenceServerException:
            pass
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("Triton does not start:\n" + log.read_text(errors="replace")[-2000:])
        time.sleep(0.2)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for found in (one, other):
            found.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _write(repository: Path, model: SmallModel) -> None:
    folder = repository / model.name
    (folder / "1").mkdir(parents=True)
    tensors = [
        _tensor(field, name, *typed)
        for field, found in (("input", model.signature.inputs), ("output", model.signature.outputs))
        for name, typed in found.items()
    ]
    head = [f'name: "{model.name}"', 'backend: "python"', "max_batch_size: 0"]
    (folder / "config.pbtxt").write_text("\n".join([*head, *tensors, ""]))
    body = textwrap.indent(model.python, "    ").strip()
    code = _BYTES_OF_BF16 if model.name.endswith("BF16") else _BACKEND.format(body=body)
    (folder / "1" / "model.py").write_text(code)


def _tensor(field: str, name: str, kind: str, dims: tuple[int, ...]) -> str:
    kind = "STRING" if kind == "BYTES" else kind
    return f'{field} [{{ name: "{name}" data_type: TYPE_{kind} dims: {list(dims)} }}]'


if __name__ == "__main__":
    sys.exit(main())
