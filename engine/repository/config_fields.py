"""What this server does with every field of a model's configuration: the one table of it.

A row is moved from ``IGNORED`` to ``HONOURED`` by whoever makes the server honour the field. What
belongs to a field that is ignored is ignored with it, and needs no row. A test looks whether each
field of the message has one row, and the manual's table (docs/how_to/repository.md) is this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surplus.engine.repository.field_lines import FieldLines

HONOURED: dict[str, dict[str, str]] = {
    "ModelConfig": {
        "name": "must be the folder's name, if written",
        "platform": "`onnxruntime_onnx`, `surplus_onnx` or `ensemble`; others are refused by name",
        "backend": "`onnxruntime` or `surplus`; others are refused by name",
        "version_policy": "which versions are served; the newest, if not written",
        "max_batch_size": "0: shapes are whole; else a batch dimension stands before all `dims`",
        "input": "completed from the model, and compared with it",
        "output": "the same; those that are not named are not offered",
        "default_model_filename": "instead of `model.onnx`",
        "instance_group": "where it runs, and how often at once",
        "dynamic_batching": "queries that wait are answered together, by one call",
        "parameters": "told to clients",
        "ensemble_scheduling": "steps become one plan, or run in turn (docs/how_to/ensembles.md)",
        "model_warmup": "queries that are answered before the model is ready; those with files"
        " are also what it is measured with",
        "model_operations": "custom operators (docs/how_to/ensembles.md)",
    },
    "ModelOperations": {
        "op_library_filename": "a file, seen from the model's folder, or `onnxruntime-extensions`",
    },
    "ModelEnsembling": {"step": "models beside the ensemble's folder"},
    "ModelEnsembling.Step": {
        "model_name": "its folder",
        "model_version": "one that is served; -1, and 0: the newest",
        "input_map": "every input that the model needs",
        "output_map": "outputs that are used",
    },
    "ModelWarmup": {
        "name": "in errors",
        "batch_size": "stands before all `dims` where `max_batch_size` is above 0",
        "inputs": "every input that the model needs",
        "count": "how often it is asked",
    },
    "ModelWarmup.Input": {
        "data_type": "must be the model's",
        "dims": "without open sizes",
        "zero_data": "zeros, empty strings",
        "random_data": "all values of integers, 0 to 1 of others, empty strings",
        "input_data_file": "in the model's folder `warmup`, as bytes of the protocol",
    },
    "ModelInput": {
        "name": "must be an input of the model",
        "data_type": "must be the model's",
        "dims": "must fit the model's; where they say more than the model, queries must fit them",
        "reshape": "the model is given this shape",
        "optional": "must be so in the model",
    },
    "ModelTensorReshape": {"shape": "in place of `dims`, in the same order of elements"},
    "ModelOutput": {
        "name": "must be an output of the model",
        "data_type": "must be the model's",
        "dims": "must fit the model's",
        "reshape": "the model gives this shape, and clients get `dims`",
        "label_filename": "labels of the classification extension, a line each",
    },
    "ModelVersionPolicy": {
        "latest": "the newest `num_versions`",
        "all": "every version",
        "specific": "those alone; one that is not there is an error",
    },
    "ModelVersionPolicy.Latest": {"num_versions": "how many; 0 is an error"},
    "ModelVersionPolicy.All": {},
    "ModelVersionPolicy.Specific": {"versions": "which"},
    "ModelInstanceGroup": {
        "kind": "`KIND_CPU` and `KIND_GPU` choose among the server's devices",
        "gpus": "which of them",
        "count": "so many calls of the model are computed at once; one a lane, if not written",
    },
    "ModelDynamicBatching": {
        "preferred_batch_size": "a batch of so many rows does not wait for more",
        "max_queue_delay_microseconds": "how long a query waits for others, if its deadline allows",
        "preserve_ordering": "answers of a stream come in the order of its queries, in any case",
        "priority_levels": "9 at most; the most urgent queries of the model first",
        "default_priority_level": "of queries that say no `priority`",
        "default_queue_policy": "of levels that have none of their own",
        "priority_queue_policy": "of a level",
    },
    "ModelQueuePolicy": {
        "timeout_action": "`REJECT`: UNAVAILABLE; `DELAY`: behind the others of the level",
        "default_timeout_microseconds": "how long a query may wait for its call",
        "allow_timeout_override": "a query's own `timeout` ends it wherever it is, in any case",
        "max_queue_size": "queries that wait for their call; more are UNAVAILABLE",
    },
    "ModelParameter": {"string_value": "told to clients"},
}
"""By message and field: what it means here."""

IGNORED: dict[str, dict[str, str]] = {
    "ModelConfig": {
        "sequence_batching": "queries of a sequence are not kept together",
        "response_cache": "every query is computed",
        "optimization": "plans are chosen by measurement",
        "runtime": "models run in this server, by no library of the model's",
        "cc_model_filenames": "one file does for every GPU",
        "metric_tags": "metrics carry the model's name and version",
        "batch_input": "ONNX models have no inputs of this kind",
        "batch_output": "ONNX models have no outputs of this kind",
        "model_transaction_policy": "an ONNX model answers each query once",
        "model_repository_agents": "files are read as they are",
        "model_metrics": "buckets are the server's",
    },
    "ModelEnsembling": {"max_inflight_requests": "queries overlap as those of any model"},
    "ModelEnsembling.Step": {"model_namespace": "names of models are unique"},
    "ModelInput": {
        "format": "only Triton's own checks of images read it",
        "is_shape_tensor": "of TensorRT engines",
        "allow_ragged_batch": "queries of different shapes are not joined",
        "is_non_linear_format_io": "of TensorRT engines",
    },
    "ModelOutput": {
        "is_shape_tensor": "of TensorRT engines",
        "is_non_linear_format_io": "of TensorRT engines",
    },
    "ModelInstanceGroup": {
        "name": "instances have no names",
        "profile": "of TensorRT engines",
        "rate_limiter": "queries wait for lanes, which no model holds by itself",
        "passive": "every instance answers",
        "secondary_devices": "there is no NVDLA",
        "host_policy": "threads keep to the cores of their devices",
    },
}
"""The same: why a server that reads it warns that nothing comes of it."""


def field_rows(descriptor: Any, prefix: str = "") -> Iterator[tuple[str, bool, str]]:
    """Path, whether it is honoured, and what comes of it: every field, as the manual has them.

    Parameters
    ----------
    descriptor : Any
        Of the message, to begin with of ``ModelConfig``.
    """
    name = descriptor.full_name.removeprefix("inference.")
    for field in descriptor.fields:
        path = f"{prefix}{field.name}"
        if (why := IGNORED.get(name, {}).get(field.name)) is not None:
            yield path, False, why
            continue
        yield path, True, HONOURED[name][field.name]
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            inner = inner.fields_by_name["value"].message_type
        if inner is not None:
            yield from field_rows(inner, f"{path}.")


def field_warnings(message: Any, lines: FieldLines) -> list[str]:
    """A line for each field that is set and ignored: file, line, field and why."""
    return [
        f"{lines.place(path)} is not honoured: {why}" for path, why in _ignored(message, prefix="")
    ]


def _ignored(message: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Path and reason, in the order of the message."""
    reasons = IGNORED.get(message.DESCRIPTOR.full_name.removeprefix("inference."), {})
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if field.name in reasons:
            yield path, reasons[field.name]
        elif field.message_type is not None:
            for inner_path, inner in _messages(field, value, path):
                yield from _ignored(inner, f"{inner_path}.")


def _messages(field: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The messages of a field, each with its path; none of a map of numbers or strings."""
    if field.message_type.GetOptions().map_entry:
        if field.message_type.fields_by_name["value"].message_type is not None:
            yield from ((f"{path}.{key}", inner) for key, inner in value.items())
    elif field.has_presence:
        yield path, value
    else:
        yield from ((f"{path}[{index}]", inner) for index, inner in enumerate(value))
