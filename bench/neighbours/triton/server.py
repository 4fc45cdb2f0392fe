"""A Triton server beside the process that asks it, over gRPC and inputs in shared memory."""

from __future__ import annotations

import atexit
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as grpc
from tritonclient.utils import np_to_triton_dtype, shared_memory

from bench.infrastructure.ports import free_port
from bench.kernels.models import Inputs
from bench.neighbours.triton.environment import TritonEnvironment, server_options
from bench.neighbours.triton.model_files import TritonModelParams, write_model

_STARTS_S = 60.0


class TritonServer:
    """Serves what is loaded, until the process ends.

    Parameters
    ----------
    folder : Path
        For its repository, backends and log; is made.

    Raises
    ------
    FileNotFoundError
        If there is no Triton here.
    RuntimeError
        If it does not start; the last lines of its log.
    """

    def __init__(self, folder: Path) -> None:
        there = TritonEnvironment()
        self._folder = folder
        (folder / "repository").mkdir(parents=True)
        there.link_backends(folder / "backends")
        port = free_port()
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [there.server, *options(folder, port)],
                env=there.variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        atexit.register(self.end)
        self._address = f"127.0.0.1:{port}"
        self._client = grpc.InferenceServerClient(self._address)
        self._await_start()

    def _await_start(self) -> None:
        until = time.monotonic() + _STARTS_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                log = (self._folder / "log").read_text(errors="replace").splitlines()
                raise RuntimeError("Triton does not start: " + " | ".join(log[-3:]))
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            return bool(self._client.is_server_ready())
        except grpc.InferenceServerException:
            return False

    def load(self, name: str, params: TritonModelParams, inputs: Inputs) -> Callable[[int], object]:
        """Serve a model; what it returns asks it with these inputs, as often as it is called."""
        outputs = _outputs_of(params.file, inputs)
        described = {key: _typed(array) for key, array in inputs.items()}
        answered = {key: _typed(array) for key, array in outputs.items()}
        write_model(self._folder / "repository", name, params, described, answered)
        self._client.load_model(name)
        client = grpc.InferenceServerClient(self._address)
        feed = [self._shared(name, key, array) for key, array in inputs.items()]

        def ask(_: int) -> object:
            answer = client.infer(name, feed)
            return [answer.as_numpy(key) for key in outputs]

        return ask

    def _shared(self, model: str, name: str, array: np.ndarray[Any, Any]) -> grpc.InferInput:
        """An input that lies in shared memory, so that no query sends it."""
        region = f"surplus-bench-{os.getpid()}-{model}-{name}".replace("/", "-").replace(" ", "-")
        held = shared_memory.create_shared_memory_region(region, f"/{region}", array.nbytes)
        atexit.register(shared_memory.destroy_shared_memory_region, held)
        shared_memory.set_shared_memory_region(held, [np.ascontiguousarray(array)])
        self._client.register_system_shared_memory(region, f"/{region}", array.nbytes)
        given = grpc.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        given.set_shared_memory(region, array.nbytes)
        return given

    def end(self) -> None:
        """It frees its shared memory, if it is asked to end."""
        self._process.terminate()
        try:
            self._process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self._process.kill()


def options(folder: Path, port: int) -> list[str]:
    """Of the server's command line: gRPC alone, for this machine alone."""
    return [*server_options(folder, port), "--allow-http=false"]


def _outputs_of(file: Path, inputs: Inputs) -> dict[str, np.ndarray[Any, Any]]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def _typed(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...]]:
    return np_to_triton_dtype(array.dtype), array.shape
