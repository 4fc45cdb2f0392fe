"""Our own server, started in one way or another; a further way is an entry of SERVERS."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import surplus
from surplus.engine.serving.server_params import FrontEnd
from tests.serving.conformance.clients import Addresses
from tests.serving.conformance.models import models

_GRPC = re.compile(r"^serving .* on (\S+) \(gRPC", re.MULTILINE)
_HTTP = re.compile(r"^HTTP: http://(\S+)/v2$", re.MULTILINE)


@contextmanager
def in_process(folder: Path) -> Iterator[Addresses]:
    """In a thread of this process."""
    files = {model.name: model.write_onnx(folder) for model in models()}
    with surplus.Server(files, port=0, http_port=0) as server:
        assert server.http_address is not None
        yield Addresses(server.address, server.http_address)


@contextmanager
def python_front_end(folder: Path) -> Iterator[Addresses]:
    """The same, with gRPC's own server and aiohttp's."""
    files = {model.name: model.write_onnx(folder) for model in models()}
    with surplus.Server(files, port=0, http_port=0, front_end=FrontEnd.PYTHON) as server:
        assert server.http_address is not None
        yield Addresses(server.address, server.http_address)


@contextmanager
def engine_serve(folder: Path, options: Sequence[str] = ("--one-port",)) -> Iterator[Addresses]:
    """By the command, from a repository; one port for all."""
    for model in models():
        version = folder / model.name / "1"
        version.mkdir(parents=True)
        model.write_onnx(version).rename(version / "model.onnx")
    command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(folder)]
    command += ["--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _announced(process)
        finally:
            process.terminate()


def _announced(process: subprocess.Popen[str]) -> Addresses:
    """What it says once it is ready; the rest of its output is thrown away."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        grpc, http = _GRPC.search(said), _HTTP.search(said)
        if grpc and http:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return Addresses(grpc[1], http[1])
    raise AssertionError(f"it ended with {process.wait()}, and said {said!r}")


SERVERS: dict[str, Callable[[Path], AbstractContextManager[Addresses]]] = {
    "in_process": in_process,
    "python_front_end": python_front_end,
    "engine_serve": engine_serve,
    "isolated": partial(engine_serve, options=["--isolate", "--http-port", "0"]),
}
