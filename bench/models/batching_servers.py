"""A model behind a server that batches its queries in one way: ours, or Triton's."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tritonclient.grpc as triton
from tritonclient.utils import np_to_triton_dtype

from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.infrastructure.process_tree import tree_cpu_s
from bench.neighbours.triton.environment import TritonEnvironment, server_options
from bench.neighbours.triton.model_files import TritonModelParams, write_model
from bench.serving.loads import Asking
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess
from surplus import models
from surplus.engine.devices.shared_cores import BROKER_VARIABLE
from surplus.loadgen.arrivals.poisson import poisson
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Records
from surplus.loadgen.stats import LoadSummary, summarise

SIZES: dict[str, dict[str, Any]] = {
    "bert_base": {"layers": 4, "hidden": 256, "sequence": 16, "vocabulary": 1000},
    "resnet50": {"image_size": 64},
}
"""Of BERT, BERT-mini's. With fewer layers who asks computes longer than who answers, and is the
limit on two cores."""

WAYS = DELAYED, AS_THEY_COME, OFF = "with a delay", "as they come", "one by one"
TRITON = "Triton"
MOST_ROWS = 16
CONFIG = f"max_batch_size: {MOST_ROWS}\n"
_SETTLES_S, _WATCHED_S, _IDLE_SHARE = 2.0, 2.0, 0.05
DYNAMIC = "dynamic_batching {{ max_queue_delay_microseconds: {} }}\n"


def built_open(name: str) -> tuple[Path, Path]:
    """The model with its leading dimension open, and a query of one row in a file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    size = "-".join(map(str, SIZES[name].values()))
    path = FOLDER / f"{name}-{size}-served-open.onnx"
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
    # Strangers' processes are waited for by none of those that are compared.
    own = {"SURPLUS_TUNE": "now", BROKER_VARIABLE: str(folder / "broker")}
    return command, {**os.environ, **own}


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

    def users(self, count: int, seconds: float) -> LoadSummary:
        """Of so many who wait for each answer."""
        loop = ClosedLoopParams(LoadgenParams(round(seconds * NS_PER_S)), count)
        with self._target(self._asking) as target:
            return summarise(NativeLoad(target, loop).run(), open_loop=False)

    def at_rate(self, rate_per_s: float, load: LoadgenParams, seed: Sequence[int]) -> Records:
        """Poisson arrivals; of one seed, the same ones."""
        arrivals = poisson(rate_per_s, np.random.default_rng(seed))
        with self._target(self._asking) as target:
            return NativeLoad(target, OpenLoopParams(load), offsets_ns=arrivals).run()

    @property
    def _asking(self) -> Asking:
        return Asking(self.name, "grpc", 1)

    def calls(self) -> dict[int, int]:
        """Calls of the model so far, by how many rows they had; none where nothing is told."""
        with triton.InferenceServerClient(self.url) as client:
            (row,) = client.get_inference_statistics(self.name).model_stats
        return {int(b.batch_size): int(b.compute_infer.count) for b in row.batch_stats}


def require_idle(
    servers: Mapping[str, int],
    cpu_s: Callable[[int], float] = tree_cpu_s,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Those that nobody asks must leave the cores to the one that is asked.

    Parameters
    ----------
    servers : mapping of str to int
        Process ids by name.

    Raises
    ------
    RuntimeError
        If one computes more than a twentieth of a core, two seconds after its last query.
    """
    sleep(_SETTLES_S)
    before = {name: cpu_s(pid) for name, pid in servers.items()}
    sleep(_WATCHED_S)
    for name, pid in servers.items():
        share = (cpu_s(pid) - before[name]) / _WATCHED_S
        if share > _IDLE_SHARE:
            raise RuntimeError(f"{name} takes {share:.0%} of a core while nobody asks it")
