"""ONNX Runtime's own package in a process of its own.

Two copies of ONNX Runtime in one process, the package's and our core's, would share one library
through which the CUDA provider calls its host: the second takes it from the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu_check.onnxruntime_cuda import CUDA, captured_runner, runner
from surplus.engine.cuda_libraries import WORKSPACE_VARIABLE

Array = np.ndarray[Any, Any]

_READY = "ready"


def isolated_runner(
    path: Path, inputs: Mapping[str, Array], provider: str = CUDA, *, captured: bool = False
) -> Callable[[], dict[str, Array]]:
    """Run the package's session over there; outputs stay there, so each call answers nothing.

    A call takes some tens of microseconds beside the run. Thread-safe: a session runs calls of
    several threads at once. The process ends with this one, or when nobody holds the function.

    Raises
    ------
    RuntimeError
        If the session cannot be opened or run, with what the process printed.
    """
    folder = tempfile.TemporaryDirectory(prefix="onnxruntime-")
    arrays, address = Path(folder.name) / "inputs.npz", str(Path(folder.name) / "socket")
    np.savez(arrays, **dict(inputs))
    words = [str(path), str(arrays), address, provider, "captured" if captured else "plain"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.gpu_check.other_process", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
    )
    return _Caller(folder, process, address)


def _environment() -> dict[str, str]:
    """Ours, but for the size of cuBLAS' workspaces: the package has the library's own."""
    return {key: value for key, value in os.environ.items() if key != WORKSPACE_VARIABLE}


class _Caller:
    def __init__(
        self, folder: tempfile.TemporaryDirectory[str], process: subprocess.Popen[str], address: str
    ) -> None:
        self._folder, self._process, self._address = folder, process, address
        self._own = threading.local()
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            if line.strip() == _READY:
                return
            printed.append(line)
        raise RuntimeError(f"ONNX Runtime's package cannot run it: {''.join(printed).strip()}")

    def __call__(self) -> dict[str, Array]:
        if not hasattr(self._own, "connection"):
            self._own.connection = Client(self._address, "AF_UNIX")
        connection: Connection = self._own.connection
        connection.send_bytes(b"run")
        why = connection.recv_bytes()
        if why:
            raise RuntimeError(why.decode())
        return {}

    def __del__(self) -> None:
        self._process.communicate()  # the end of its input ends it
        self._folder.cleanup()


def _serve(connection: Connection, run: Callable[[], object]) -> None:
    while True:
        try:
            connection.recv_bytes()
        except EOFError:
            return
        try:
            run()
        except Exception as error:
            connection.send_bytes(str(error).encode())
        else:
            connection.send_bytes(b"")


def main() -> None:
    """Open the session, say so, and run it for each call until our input ends."""
    path, arrays, address, provider, how = sys.argv[1:]
    inputs = dict(np.load(arrays))
    make = captured_runner if how == "captured" else runner
    run = make(Path(path), inputs, provider)
    run()
    listener = Listener(address, "AF_UNIX", backlog=64)

    def accept() -> None:
        while True:
            threading.Thread(target=_serve, args=(listener.accept(), run), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(_READY, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
