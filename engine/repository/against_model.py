"""A configuration beside the model itself: completed from it, and checked against it.

As Triton does it: tensors that are not named come from the model; with ``max_batch_size`` above 0
every tensor's first dimension is the batch, and not among its ``dims``.

One departure: that ``max_batch_size`` is not written says that shapes are whole. Triton takes it
for 4 then, where a model allows for batches; we do that where ``dynamic_batching`` asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from surplus.engine.repository.config_checks import PLATFORMS
from surplus.engine.repository.config_message import enum_name, enum_number
from surplus.engine.repository.field_lines import FieldLines

DEFAULT_MAX_BATCH_SIZE = 4
"""Triton's ``default-max-batch-size``."""

DEFAULT_PLATFORM = "surplus_onnx"
DEFAULT_MODEL_FILENAME = "model.onnx"


class ModelTensor(Protocol):
    """An input or output of the model, by the names of the Open Inference Protocol."""

    @property
    def name(self) -> str:
        """In the model."""
        ...

    @property
    def dtype(self) -> str:
        """``FP32``, ``BYTES``, ..."""
        ...

    @property
    def shape(self) -> tuple[int, ...] | None:
        """-1 is any size; None: any number of dimensions."""
        ...

    @property
    def optional(self) -> bool:
        """Whether a query may leave it out."""
        ...


def complete(
    message: Any,
    lines: FieldLines,
    name: str,
    inputs: Sequence[ModelTensor],
    outputs: Sequence[ModelTensor],
) -> None:
    """Fill in what the configuration leaves to the model, and refuse what contradicts it.

    Raises
    ------
    ConfigError
        Naming file, line and field, and what the model has instead.
    """
    message.name = name
    message.platform = message.platform or DEFAULT_PLATFORM
    message.backend = message.backend or PLATFORMS[message.platform]
    message.default_model_filename = message.default_model_filename or DEFAULT_MODEL_FILENAME
    if message.version_policy.WhichOneof("policy_choice") is None:
        message.version_policy.latest.num_versions = 1
    _complete_max_batch_size(message, lines, [*inputs, *outputs])
    _complete_tensors(message.input, inputs, message.max_batch_size, "input", lines)
    _complete_tensors(message.output, outputs, message.max_batch_size, "output", lines)
    if missing := {i.name for i in inputs if not i.optional} - {i.name for i in message.input}:
        raise lines.wrong("input", f"does not name {min(missing)!r}, which the model needs")


def config_datatype(dtype: str) -> str:
    """``TYPE_FP32`` of ``FP32``."""
    return "TYPE_STRING" if dtype == "BYTES" else f"TYPE_{dtype}"


def _complete_max_batch_size(message: Any, lines: FieldLines, tensors: Sequence[Any]) -> None:
    unbatched = [t.name for t in tensors if t.shape is not None and t.shape[:1] != (-1,)]
    if message.max_batch_size and unbatched:
        raise lines.wrong(
            "max_batch_size",
            f"is {message.max_batch_size}, but the first dimension of {unbatched[0]!r} is not open",
        )
    if not message.max_batch_size and message.HasField("dynamic_batching") and not unbatched:
        preferred = message.dynamic_batching.preferred_batch_size
        message.max_batch_size = max([DEFAULT_MAX_BATCH_SIZE, *preferred])


def _complete_tensors(
    written: Any, tensors: Sequence[ModelTensor], max_batch_size: int, kind: str, lines: FieldLines
) -> None:
    known = {tensor.name: tensor for tensor in tensors}
    if not written:
        for tensor in tensors:
            written.add(name=tensor.name)
    for index, entry in enumerate(written):
        at = f"{kind}[{index}]"
        if entry.name not in known:
            names = ", ".join(map(repr, known))
            raise lines.wrong(
                f"{at}.name", f"the model has no {kind} {entry.name!r}; it has {names}"
            )
        _complete_tensor(entry, known[entry.name], max_batch_size, at, lines)


def _complete_tensor(
    entry: Any, tensor: ModelTensor, max_batch_size: int, at: str, lines: FieldLines
) -> None:
    _complete_datatype(entry, config_datatype(tensor.dtype), at, lines)
    if hasattr(entry, "optional"):
        if entry.optional and not tensor.optional:
            raise lines.wrong(f"{at}.optional", "is true, but the model needs this input")
        entry.optional = tensor.optional
    if tensor.shape is not None:
        _complete_dims(entry, tensor.shape, max_batch_size, at, lines)
    elif not entry.dims:
        entry.dims.append(-1)


def _complete_datatype(entry: Any, theirs: str, at: str, lines: FieldLines) -> None:
    if not entry.data_type:
        entry.data_type = enum_number("DataType", theirs)
    if (ours := enum_name("DataType", entry.data_type)) != theirs:
        raise lines.wrong(f"{at}.data_type", f"is {ours}, but the model's is {theirs}")


def _complete_dims(
    entry: Any, shape: tuple[int, ...], max_batch_size: int, at: str, lines: FieldLines
) -> None:
    own = shape[1:] if max_batch_size else shape
    is_reshaped = entry.HasField("reshape")
    if not entry.dims and not is_reshaped:
        entry.dims.extend(own)
    wanted = entry.reshape.shape if is_reshaped else entry.dims
    if not _fits(wanted, own):
        field = "reshape.shape" if is_reshaped else "dims"
        behind = " behind the batch dimension" if max_batch_size else ""
        raise lines.wrong(
            f"{at}.{field}", f"is {list(wanted)}, but the model's is {list(own)}{behind}"
        )


def _fits(wanted: Sequence[int], own: Sequence[int]) -> bool:
    """Whether a shape is the model's, or a narrower one where the model leaves a size open."""
    return len(wanted) == len(own) and all(
        theirs in (-1, ours) for ours, theirs in zip(wanted, own, strict=True)
    )
