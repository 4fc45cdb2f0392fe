"""A thousand small models in one process: memory, threads, first inference of an idle one.

Each is a multilayer perceptron of four layers of 256 (1.03 MiB of weights of its own) with a
stored plan. All are loaded, then each is queried, round after round: a model is idle until its
first query, and warm at its second, when 999 others have run in between.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import available_cores
from surplus.engine.pipeline.loading import load_with
from surplus.engine.pipeline.process_memory import MappedFiles, ProcessMemory, thread_count
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel

MIB = 2**20
MODELS = 1000
LAYERS = 4
SIZE = 256
ROUNDS = 3
_CACHE = FOLDER / "cache"
_CHILD = "--measure"


def build(index: int) -> Path:
    """The model of that number, written once."""
    path = FOLDER / "many" / f"perceptron{index}.onnx"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(index)
    constants, nodes, value = [], [], "x"
    for layer in range(LAYERS):
        weight = rng.standard_normal((SIZE, SIZE), np.float32) / SIZE**0.5
        bias = rng.standard_normal(SIZE, np.float32)
        constants += [
            numpy_helper.from_array(weight, f"w{layer}"),
            numpy_helper.from_array(bias, f"b{layer}"),
        ]
        nodes += [
            helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], [f"g{layer}"]),
            helper.make_node("Relu", [f"g{layer}"], [f"r{layer}"]),
        ]
        value = f"r{layer}"
    ends = [helper.make_tensor_value_info(name, 1, [1, SIZE]) for name in ("x", value)]
    graph = helper.make_graph(nodes, f"perceptron{index}", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def measure() -> dict[str, Any]:
    """Load all with their stored plans, run them in turns."""
    params = LoadParams(cache=_CACHE, selection_s=0)
    paths = [build(index) for index in range(MODELS)]
    machine_for(params.specs())
    load_with(paths[0], params)  # what the first load imports belongs to the base
    base, base_threads = ProcessMemory.now(), thread_count()
    began = time.perf_counter()
    with ThreadPoolExecutor(available_cores()) as pool:
        models = list(pool.map(lambda path: load_with(path, params), paths))
    load_s = time.perf_counter() - began
    idle = ProcessMemory.now().minus(base)
    weights_idle = MappedFiles.below(_CACHE)
    rounds = [_round(models) for _ in range(ROUNDS)]
    used = ProcessMemory.now().minus(base)
    return {
        "base": base.to_dict(),
        "base_threads": base_threads,
        "load_ms": load_s / MODELS * 1e3,
        "idle": idle.to_dict(),
        "idle_weights": vars(weights_idle),
        "used": used.to_dict(),
        "threads": thread_count(),
        "query_us": rounds,
        "hot_us": _hot_us(models[0]),
    }


def _input() -> dict[str, np.ndarray[Any, Any]]:
    return {"x": np.ones((1, SIZE), np.float32)}


def _round(models: list[PlannedModel]) -> float:
    """Median time of one query to each."""
    inputs, times = _input(), []
    for model in models:
        start = time.perf_counter_ns()
        model.run(inputs)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def _hot_us(model: PlannedModel) -> float:
    return min(_round([model] * 50) for _ in range(3))


def row(found: dict[str, Any]) -> dict[str, Any]:
    """The table's line."""
    weights = MODELS * LAYERS * (SIZE * SIZE + SIZE) * 4
    first, *_, warm = found["query_us"]
    return {
        "models": MODELS,
        "weights MiB": weights / MIB,
        "process before MiB": found["base"]["resident_bytes"] / MIB,
        "loaded, idle MiB": found["idle"]["resident_bytes"] / MIB,
        "all used MiB": found["used"]["resident_bytes"] / MIB,
        "used over weights": found["used"]["resident_bytes"] / weights,
        "private KiB a model": found["used"]["private_bytes"] / MODELS / 1024,
        "threads": found["threads"],
        "cores + 4": available_cores() + 4,
        "load ms a model": found["load_ms"],
        "first query µs": first,
        "warm query µs": warm,
        "first over warm": first / warm,
        "same model again and again µs": found["hot_us"],
    }


def prepare() -> None:
    """Build the models, and load each once so that its plan is stored."""
    params = LoadParams(cache=_CACHE, selection_s=0, finalists=1)
    for index in range(MODELS):
        load_with(build(index), params)


def main() -> None:
    """Prepare in one process, measure in another, store the table."""
    if _CHILD in sys.argv:
        print(json.dumps(measure()))
        return
    prepare()
    done = subprocess.run(
        [sys.executable, "-m", "bench.models.many_models", _CHILD],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows = [row(json.loads(done.stdout.splitlines()[-1]))]
    result_file.show("A thousand small models", rows)
    result_file.write("many_models", {"layers": LAYERS, "size": SIZE, "rounds": ROUNDS}, rows)


if __name__ == "__main__":
    main()
