"""Batches over gRPC, in an open loop: what load a server holds within a target.

``loadgen capacity`` looks for the highest rate of Poisson arrivals of which 99 % are answered
within the target, of a server of ours in three ways: with ``dynamic_batching`` of a delay, with
batches as they form by themselves, and with none; and of Triton with the same delay, where it is
here (``make triton``; ONNX Runtime in its Python backend, an instance a core). The ways take turns,
in another order each round.
Answers are compared with the first one's, within the usual tolerance, before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tritonclient.grpc as triton
from tritonclient.utils import np_to_triton_dtype

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.neighbours.triton.environment import TritonEnvironment, missing, server_options
from bench.neighbours.triton.model_files import TritonModelParams, write_model
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess
from surplus import models

SIZES: dict[str, dict[str, Any]] = {
    "bert_base": {"layers": 2, "hidden": 128, "sequence": 16, "vocabulary": 1000},
    "resnet50": {"image_size": 64},
}
WAYS = DELAYED, AS_THEY_COME, OFF = "with a delay", "as they come", "one by one"
TRITON = "Triton"
MOST_ROWS = 16
CONFIG = f"max_batch_size: {MOST_ROWS}\n"
DYNAMIC = "dynamic_batching {{ max_queue_delay_microseconds: {} }}\n"
_RTOL, _ATOL = 1e-3, 1e-4
"""Between a row in a batch and the row alone, as ``--any-bits`` allows it."""


def built_open(name: str) -> tuple[Path, Path]:
    """The model with its leading dimension open, and a query of one row in a file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}-served-open.onnx"
    rows = path.with_suffix(".npz")
    if not path.exists():
        parameters = SIZES[name]
        model = models.build(name, **parameters)
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
        del model.graph.value_info[:]
        np.savez(rows, **models.example_inputs(name, **parameters))  # type: ignore[arg-type]
        onnx.save(model, path)
    return path, rows


Start = tuple[Sequence[str | Path], Mapping[str, str]]
"""A command and its environment."""


def ours(folder: Path, name: str, way: str, delay_us: int, port: int) -> Start:
    """``engine serve``, which batches queries in one way."""
    version = folder / "repository" / name / "1"
    version.mkdir(parents=True)
    version.joinpath("model.onnx").symlink_to(built_open(name)[0])
    config = CONFIG + (DYNAMIC.format(delay_us) if way == DELAYED else "")
    version.with_name("config.pbtxt").write_text(config)
    options = ["--max-batch", "0"] if way == OFF else ["--any-bits"]
    command: list[str | Path] = [
        Path(sys.executable).with_name("engine"),
        "serve",
        folder / "repository",
    ]
    command += ["--cache", FOLDER / "cache", "--no-metrics", "--port", str(port), *options]
    return command, {**os.environ, "SURPLUS_TUNE": "now"}


def tritons(folder: Path, name: str, delay_us: int, port: int) -> Start:
    """Triton's server and its own batcher."""
    there = TritonEnvironment()
    there.link_backends(folder / "backends")
    file, rows = built_open(name)
    instances = len(os.sched_getaffinity(0))
    params = TritonModelParams(
        file, "onnxruntime", instances, max_batch=MOST_ROWS, delay_us=delay_us
    )
    inputs = {
        key: (np_to_triton_dtype(value.dtype), value.shape[1:])
        for key, value in np.load(rows).items()
    }
    typed = onnx.load(file, load_external_data=False).graph.output
    outputs = {
        value.name: ("FP32", (1,) * (len(value.type.tensor_type.shape.dim) - 1)) for value in typed
    }
    write_model(folder / "repository", name, params, inputs, outputs)
    options = [*server_options(folder, port), "--allow-http=false", f"--load-model={name}"]
    return [there.server, *options], there.variables()


class Served(ServerProcess):
    """A model behind a server, which batches its queries in one way."""

    def __init__(self, folder: Path, name: str, way: str, delay_us: int) -> None:
        self.name, port = name, free_port()
        if way == TRITON:
            command, environment = tritons(folder, name, delay_us, port)
        else:
            command, environment = ours(folder, name, way, delay_us, port)
        file, rows = built_open(name)
        payloads = {name: Payload(name, file, dict(np.load(rows)))}
        super().__init__(command, {"grpc": port}, payloads, folder / "log", environment)

    @property
    def url(self) -> str:
        """Of gRPC."""
        return f"127.0.0.1:{self.port('grpc')}"

    def answers(self, rows: Mapping[str, Any]) -> list[Any]:
        """Of 32 queries that overlap."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        inputs = []
        for key, value in rows.items():
            inputs.append(triton.InferInput(key, value.shape, np_to_triton_dtype(value.dtype)))
            inputs[-1].set_data_from_numpy(value)
        with triton.InferenceServerClient(self.url) as client:
            output = client.get_model_metadata(self.name).outputs[0].name
            for _ in range(32):
                client.async_infer(
                    self.name, inputs, lambda result, error: done.put(error or result)
                )
            found = [done.get(timeout=60) for _ in range(32)]
        if wrong := [one for one in found if isinstance(one, Exception)]:
            raise wrong[0]
        return [one.as_numpy(output) for one in found]

    def capacity(self, target_ms: float, resolution: float, window: str) -> float:
        """The highest rate, a second, of which 99 % are answered within the target."""
        command = [Path(sys.executable).with_name("loadgen"), "capacity", "--model", self.name]
        command += ["--url", self.url, "--inputs", built_open(self.name)[1]]
        command += ["--slo", f"{target_ms}ms", "--resolution", resolution, "--window", window]
        done = subprocess.run(
            [*map(str, command), "--json", "-"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return float(json.loads(done.stdout)["capacity_per_s"])


def row(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one model in each way, so many times."""
    rows = dict(np.load(built_open(name)[1]))
    ways = WAYS if missing() else (*WAYS, TRITON)
    found: dict[str, list[float]] = {way: [] for way in ways}
    alone: Any = None
    for turn in range(args.rounds):
        for place in range(len(ways)):
            way = ways[(place + turn) % len(ways)]
            with tempfile.TemporaryDirectory() as folder:
                served = Served(Path(folder), name, way, args.delay_us)
                try:
                    answers = served.answers(rows)
                    alone = answers[0] if alone is None else alone
                    for answer in answers:
                        np.testing.assert_allclose(answer, alone, rtol=_RTOL, atol=_ATOL)
                    found[way].append(served.capacity(args.target, args.resolution, args.window))
                finally:
                    served.end()
    rates = {way: statistics.median(each) for way, each in found.items()}
    return {
        "model": name,
        "target ms": args.target,
        **{f"{way} /s": rate for way, rate in rates.items()},
        "a delay over one by one": rates[DELAYED] / rates[OFF],
        "as they come over one by one": rates[AS_THEY_COME] / rates[OFF],
        "a delay over Triton": rates[DELAYED] / rates.get(TRITON, math.nan),
        "as they come over Triton": rates[AS_THEY_COME] / rates.get(TRITON, math.nan),
    }


def main() -> None:
    """Measure and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join(SIZES), metavar="NAME,...")
    add("--target", type=float, default=50.0, metavar="MS", help="of 99 %% (%(default)g)")
    add("--delay-us", type=int, default=2_000, metavar="US")
    add("--rounds", type=int, default=3)
    add("--resolution", default="0.03")
    add("--window", default="5s")
    args = parser.parse_args()
    rows = [row(name, args) for name in args.models.split(",")]
    result_file.write("batching_served", vars(args), rows)
    result_file.show("batching_served", rows)


if __name__ == "__main__":
    main()
