"""A model as Triton's repository has it: a configuration, and Python that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ANSWERING = Path(__file__).with_name("answering.py")


@dataclass(frozen=True)
class TritonModelParams:
    """What a model is served with.

    Parameters
    ----------
    file : Path
        Of the ONNX model.
    library : str
        "onnxruntime" or "openvino": whose session each instance has, of one thread.
    instances : int
        Processes that answer.
    nice : int
        0 to 19, of these processes.
    operators : Path, optional
        A library of operators that ONNX Runtime does not bring along.
    max_batch : int
        Rows of one call: Triton's batcher joins queries, whose shapes begin with theirs; 0: none.
    delay_us : int
        For which a query waits for others.
    """

    file: Path
    library: str
    instances: int
    nice: int = 0
    operators: Path | None = None
    max_batch: int = 0
    delay_us: int = 0


def config_of(
    name: str,
    params: TritonModelParams,
    inputs: Mapping[str, tuple[str, tuple[int, ...]]],
    outputs: Mapping[str, tuple[str, tuple[int, ...]]],
) -> str:
    """The text of ``config.pbtxt``.

    Parameters
    ----------
    inputs, outputs : mapping
        By name, Triton's type ("FP32") and the shape of an example, without the rows where
        queries are joined.
    """
    said = {"file": params.file, "library": params.library, "nice": params.nice}
    if params.operators is not None:
        said["operators"] = params.operators
    return "\n".join(
        [
            f'name: "{name}"',
            'backend: "python"',
            f"max_batch_size: {params.max_batch}",
            *_batcher(params),
            *(_tensor("input", name, *typed) for name, typed in inputs.items()),
            *(_tensor("output", name, *_of_any_size(*typed)) for name, typed in outputs.items()),
            f"instance_group [{{ kind: KIND_CPU count: {params.instances} }}]",
            *(
                f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}'
                for key, value in said.items()
            ),
            "",
        ]
    )


def _batcher(params: TritonModelParams) -> list[str]:
    if not params.max_batch:
        return []
    return [f"dynamic_batching {{ max_queue_delay_microseconds: {params.delay_us} }}"]


def _of_any_size(kind: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Detectors find more or less; Triton takes no output without dimensions."""
    return kind, (-1,) * max(1, len(shape))


def _tensor(field: str, name: str, kind: str, shape: tuple[int, ...]) -> str:
    kind = "STRING" if kind == "BYTES" else kind
    dims = ", ".join(map(str, shape))
    return f'{field} [{{ name: "{name}" data_type: TYPE_{kind} dims: [ {dims} ] }}]'


def write_model(repository: Path, name: str, *described: Any) -> None:
    """Put a model into the repository, as ``config_of`` takes it."""
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(config_of(name, *described), encoding="utf-8")
    (folder / "1" / "model.py").symlink_to(_ANSWERING)
