"""``engine serve --isolate`` as a process, for tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import tritonclient.grpc as triton
from onnx import TensorProto, helper

WAIT_S = 60.0  # only a hang reaches it


def write_model(folder: Path, name: str, operator: str = "Neg") -> None:
    """A version of a model of one operator over any number of floats."""
    x, y = (helper.make_tensor_value_info(v, TensorProto.FLOAT, ["n"]) for v in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], name, [x], [y])
    opset = [helper.make_opsetid("", 17)]
    version = folder / name / "1"
    version.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), version / "model.onnx")


class Serving:
    """A server that runs: what it says, which processes run its models."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said = ""
        self.address = ""
        self.http_address = ""
        self._saying = threading.Lock()
        for stream in (process.stdout, process.stderr):
            threading.Thread(target=self._hear, args=(stream,), daemon=True).start()

    def _hear(self, stream) -> None:
        for line in stream:
            with self._saying:  # else a line of one stream may be lost to one of the other
                self.said += line

    def wait_for(self, pattern: str) -> re.Match[str]:
        try:
            found = until(lambda: re.search(pattern, self.said) or self.process.poll() is not None)
        except AssertionError as error:
            raise AssertionError(f"{pattern!r} was not said: {self.said}") from error
        assert isinstance(found, re.Match), self.said
        return found

    def process_of(self, model: str) -> int:
        """The one that was started last."""
        self.wait_for(rf"{model}: in process \d+")
        return int(re.findall(rf"{model}: in process (\d+)", self.said)[-1])

    def client(self) -> triton.InferenceServerClient:
        return triton.InferenceServerClient(self.address)


@contextmanager
def served(folder: Path, *options: str, python_front: bool = False) -> Iterator[Serving]:
    """Serve a repository."""
    command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(folder)]
    command += ["--port", "0", "--http-port", "0", *options]
    if python_front:
        command += ["--front-end", "python"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            serving = Serving(process)
            serving.http_address = serving.wait_for(r"HTTP: https?://(\S+)/v2\n")[1]
            serving.address = serving.wait_for(r"serving .* on (\S+) \(gRPC")[1]
            yield serving
        finally:
            process.terminate()


@contextmanager
def serving(repository: Path, port: int, http_port: int = 0, *more: str) -> Iterator[Serving]:
    """Serve it on one lane and ports of one's choice, with the cache beside it."""
    options = ("--devices", "cpu:1", "--cache", str(repository.parent / "cache"), *more)
    ports = ("--port", str(port), "--http-port", str(http_port))
    with served(repository, *options, "--no-metrics", *ports) as server:
        yield server


def until(holds: Callable[[], object]) -> object:
    """What it returns once that is true."""
    end_s = time.monotonic() + WAIT_S
    while not (found := holds()):
        assert time.monotonic() < end_s, "it did not come to be"
        time.sleep(0.005)
    return found


def is_alive(process: int) -> bool:
    """Whether it runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def vector(*values: float) -> list[triton.InferInput]:
    array = np.array(values, np.float32)
    given = triton.InferInput("x", list(array.shape), "FP32")
    given.set_data_from_numpy(array)
    return [given]


def ask(client, model: str, *values: float) -> Sequence[float]:
    return client.infer(model, vector(*values)).as_numpy("y").tolist()


def kill(process: int, number: int) -> None:
    os.kill(process, number)
    until(lambda: not is_alive(process))
