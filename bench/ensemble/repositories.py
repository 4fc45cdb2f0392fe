"""The pipeline as a repository: for us, and for Triton with ONNX Runtime in its Python backend."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx
from onnx import TensorProto

from bench.ensemble.steps import INPUT, OUTPUTS, PipelineStep
from bench.neighbours.triton.model_files import TritonModelParams, write_model
from surplus.engine.custom_operators import EXTENSIONS, library_of

ENSEMBLE = "photo"
_TYPES = {TensorProto.UINT8: "UINT8", TensorProto.FLOAT: "FP32", TensorProto.INT64: "INT64"}


def write_ours(repository: Path, steps: Sequence[PipelineStep]) -> None:
    """ONNX files as they are, and the ensemble of them."""
    for step in steps:
        version = repository / step.name / "1"
        version.mkdir(parents=True)
        (version / "model.onnx").symlink_to(step.file)
        (repository / step.name / "config.pbtxt").write_text(
            f'model_operations {{ op_library_filename: "{EXTENSIONS}" }}\n'
        )
    _write_ensemble(repository, steps)


def write_tritons(repository: Path, steps: Sequence[PipelineStep]) -> None:
    """The same files, each with an instance a core, and the same ensemble."""
    for step in steps:
        graph = onnx.load(step.file, load_external_data=False).graph
        params = TritonModelParams(
            step.file,
            "onnxruntime",
            len(os.sched_getaffinity(0)),
            operators=library_of(EXTENSIONS),
        )
        inputs = {value.name: _typed(value) for value in graph.input}
        write_model(repository, step.name, params, inputs, dict(map(_named, graph.output)))
    _write_ensemble(repository, steps)
    (repository / ENSEMBLE / "1").mkdir()


def _write_ensemble(repository: Path, steps: Sequence[PipelineStep]) -> None:
    known = {INPUT: ("UINT8", (-1,))}
    for step in steps:
        outputs = {value.name: _typed(value) for value in onnx.load(step.file).graph.output}
        known |= {tensor: outputs[name] for name, tensor in step.makes.items()}
    folder = repository / ENSEMBLE
    folder.mkdir()
    (folder / "config.pbtxt").write_text(
        f'name: "{ENSEMBLE}"\nplatform: "ensemble"\nmax_batch_size: 0\n'
        f"input [ {_tensor(INPUT, *known[INPUT])} ]\n"
        f"output [ {', '.join(_tensor(name, *known[name]) for name in OUTPUTS)} ]\n"
        f"ensemble_scheduling {{ step [ {', '.join(map(_step, steps))} ] }}\n"
    )


def _step(step: PipelineStep) -> str:
    maps = [
        f'{field} {{ key: "{name}" value: "{tensor}" }}'
        for field, mapped in (("input_map", step.reads), ("output_map", step.makes))
        for name, tensor in mapped.items()
    ]
    return f'{{ model_name: "{step.name}" model_version: -1 {" ".join(maps)} }}'


def _tensor(name: str, kind: str, shape: Iterable[int]) -> str:
    dims = ", ".join(map(str, shape))
    return f'{{ name: "{name}" data_type: TYPE_{kind} dims: [ {dims} ] }}'


def _typed(value: onnx.ValueInfoProto) -> tuple[str, tuple[int, ...]]:
    """The protocol's datatype and the shape; -1 stands for any size."""
    tensor = value.type.tensor_type
    sizes = (size.dim_value if size.HasField("dim_value") else -1 for size in tensor.shape.dim)
    return _TYPES[tensor.elem_type], tuple(sizes)


def _named(value: onnx.ValueInfoProto) -> tuple[str, tuple[str, tuple[int, ...]]]:
    return value.name, _typed(value)
