"""What the server says of itself and its models, as plain documents that every face sends.

Names and nesting are the protocol's: JSON as they are, and the fields of its gRPC messages.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from surplus.engine.repository.config_message import empty_config
from surplus.engine.serving.for_clients import without_paths
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.statistics import Duration
from surplus.engine.version import version

EXTENSIONS = (
    "classification",
    "model_configuration",
    "statistics",
    "model_repository",
    "model_repository(unload_dependents)",
    "system_shared_memory",
    "logging",
    "schedule_policy",
    "sequence",
    "parameters",
)
"""Of the protocol, what every face has."""

Document = dict[str, Any]


@dataclass(frozen=True)
class ServerIdentity:
    """Who answers."""

    name: str

    @cached_property
    def version(self) -> str:
        """Of the installed package."""
        return version()


def server_metadata(identity: ServerIdentity, extensions: Sequence[str]) -> Document:
    """Name, version and extensions of the server."""
    return {
        "name": identity.name,
        "version": identity.version,
        "extensions": [*EXTENSIONS, *extensions],
    }


def model_metadata(model: ServedModel, versions: Iterable[str]) -> Document:
    """Versions and signature of a model.

    Raises
    ------
    UnavailableError
        If the model is not ready, as ``model_config`` does.
    """
    signature = model.signature
    return {
        "name": model.name,
        "versions": list(versions),
        "platform": model.config.message.platform,
        "inputs": [_tensor(spec) for spec in signature.inputs.values()],
        "outputs": [_tensor(spec) for spec in signature.outputs.values()],
    }


def model_config(model: ServedModel) -> Any:
    """A model's configuration as a ``ModelConfig`` message, with what the model says of itself."""
    _ = model.signature
    message = empty_config()
    message.CopyFrom(model.config.message)
    message.name = model.name
    for name, text in {**model.executor.facts, **model.told}.items():
        message.parameters[name].string_value = text
    return message


def model_statistics(models: Iterable[ServedModel]) -> Document:
    """Counters of models, a row each."""
    return {"model_stats": [_statistics(model) for model in models]}


def more_statistics(models: Iterable[ServedModel]) -> Document:
    """The same, with what the protocol's messages have no field for."""
    rows = [(model, _statistics(model)) for model in models]
    for model, row in rows:
        row["inference_stats"]["refused"] = _duration(model.statistics.refused)
        row |= {"memory_usage": _memory(model), "response_stats": {}}  # as in Triton's documents
    return {"model_stats": [row for _, row in rows]}


def repository_index(
    models: Iterable[ServedModel], unlisted: Iterable[str] = (), *, ready_only: bool
) -> list[Document]:
    """State of every version of every model.

    Parameters
    ----------
    unlisted : iterable of str
        Names of models that were never loaded: nothing else is known of them.
    """
    known = [
        {
            "name": model.name,
            "version": model.version,
            "state": model.state.value,
            "reason": without_paths(model.reason),
        }
        for model in models
        if model.state is ModelState.READY or not ready_only
    ]
    never = [] if ready_only else unlisted
    return [*known, *({"name": name, "version": "", "state": "", "reason": ""} for name in never)]


def _memory(model: ServedModel) -> list[Document]:
    """Where that was measured."""
    if not model.cost_bytes:
        return []
    return [{"type": "CPU", "id": 0, "byte_size": model.cost_bytes}]


def _statistics(model: ServedModel) -> Document:
    counters, as_step = model.statistics, model.as_step
    return {
        "name": model.name,
        "version": model.version,
        "last_inference": _milliseconds_since_1970(counters.last_ns),
        "inference_count": counters.computed + as_step.inferences,
        "execution_count": model.calls + as_step.calls,
        "inference_stats": {
            "success": _duration(counters.success + as_step.took),
            "fail": _duration(counters.fail),
            "queue": _duration(counters.queue + as_step.queue),
            "compute_input": _duration(counters.compute_input),
            "compute_infer": _duration(counters.compute_infer + as_step.compute_infer),
            "compute_output": _duration(counters.compute_output),
            "cache_hit": _duration(counters.cache_hit),
            "cache_miss": _duration(counters.cache_miss),
        },
        "batch_stats": _batches(model),
    }


def _batches(model: ServedModel) -> list[Document]:
    """Calls by how many queries they answered.

    What is decoded and encoded is counted by query, not by call: all of it stands with the calls
    of a single one. Their ``compute_infer`` is what the calls of several leave of the whole.
    """
    counters, found = model.statistics, model.batches
    if not counters.success.count:
        return []
    whole = counters.compute_infer
    shared = Duration(
        sum(size * calls for size, (calls, _) in found.items()),
        sum(size * took_ns for size, (_, took_ns) in found.items()),
    )
    alone = Duration(max(0, whole.count - shared.count), max(0, whole.total_ns - shared.total_ns))
    first = _batch(1, counters.compute_input, alone, counters.compute_output)
    others = (
        _batch(size, Duration(), Duration(*took), Duration())
        for size, took in sorted(found.items())
    )
    return [first, *others]


def _batch(size: int, before: Duration, during: Duration, after: Duration) -> Document:
    return {
        "batch_size": size,
        "compute_input": _duration(before),
        "compute_infer": _duration(during),
        "compute_output": _duration(after),
    }


def _milliseconds_since_1970(moment_ns: int) -> int:
    """Of a moment on the monotonic clock; 0 for none."""
    if not moment_ns:
        return 0
    return (time.time_ns() - (time.monotonic_ns() - moment_ns)) // 1_000_000


def _tensor(spec: TensorSpec) -> Document:
    return {"name": spec.name, "datatype": spec.dtype, "shape": _dims(spec)}


def _dims(spec: TensorSpec) -> list[int]:
    """Sizes of a tensor; the protocol cannot say that not even the rank is known."""
    return [-1] if spec.shape is None else list(spec.shape)


def _duration(duration: Duration) -> dict[str, int]:
    return {"count": duration.count, "ns": duration.total_ns}
