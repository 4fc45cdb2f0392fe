"""ONNX Runtime and OpenVINO through their own Python packages: what a user would run without us."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import openvino

from bench.models.partition import write_partition


@dataclass(frozen=True)
class Setting:
    """How a session is made.

    Parameters
    ----------
    threads : int
        Inside an operator.
    parallel : bool
        ``ORT_PARALLEL`` with two inter-op threads instead of sequential execution.
    partitioned : bool
        With a partition file for two streams (bench/models/partition.py).
    """

    threads: int
    parallel: bool = False
    partitioned: bool = False

    @property
    def name(self) -> str:
        """For tables."""
        words = [f"onnxruntime x{self.threads}"]
        words += ["parallel"] * self.parallel + ["partitioned"] * self.partitioned
        return " ".join(words)


BOTH = (Setting(1), Setting(2))
ALL = (*BOTH, Setting(1, parallel=True), Setting(1, parallel=True, partitioned=True))


def session(path: Path, setting: Setting) -> onnxruntime.InferenceSession:
    """A session at default optimisation with the given setting."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting.threads
    options.log_severity_level = 3
    if setting.parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = 2
    if setting.partitioned:
        path = _optimised(path)
        file = path.with_suffix(".partition.json")
        write_partition(path, file)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.node_partition_config_file", str(file))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def runners(
    path: Path, inputs: Mapping[str, Any], settings: tuple[Setting, ...] = BOTH
) -> dict[str, Callable[[], object]]:
    """``InferenceSession.run`` at each setting, by name."""
    return {s.name: _runner(session(path, s), inputs) for s in settings}


def openvino_requests(
    path: Path, inputs: Mapping[str, Any], hint: str = "LATENCY"
) -> Callable[[], Callable[[], object]]:
    """Makes what one caller of OpenVINO calls, with a hint: in float32, as we compute.

    Raises
    ------
    RuntimeError
        If OpenVINO does not take the model.
    """
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(array.shape) for name, array in inputs.items()})
    settings: dict[str, Any] = {
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
        "PERFORMANCE_HINT": hint,
        "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
    }
    compiled = core.compile_model(model, "CPU", settings)
    feed = dict(inputs)

    def caller() -> Callable[[], object]:
        request = compiled.create_infer_request()
        return lambda: request.infer(feed, share_inputs=True, share_outputs=True)

    caller()()  # two threads that are first wait for each other in its Python module for ever
    return caller


def _runner(made: onnxruntime.InferenceSession, inputs: Mapping[str, Any]) -> Callable[[], object]:
    feed = dict(inputs)
    return lambda: made.run(None, feed)


def _optimised(path: Path) -> Path:
    """The fully optimised model with a name for every node, which a partition file needs."""
    target = path.with_name(f"{path.stem}.optimised.onnx")
    if not target.exists():
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = str(target)
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        model = onnx.load(target)
        for index, node in enumerate(model.graph.node):
            node.name = f"{index} {node.op_type}"
        onnx.save(model, target)
    return target
