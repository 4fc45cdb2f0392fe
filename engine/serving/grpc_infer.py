"""ModelInfer's messages to a query, and its outputs back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.codec import Buffer, decode_raw, decode_typed, encode_raw
from surplus.engine.serving.data_plane import InferQuery, deadline_after
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.outputs import Outputs
from surplus.engine.serving.sequences.sequence_step import step_of
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.tensor_parameters import delivery_of, part_of
from surplus.engine.serving.value_costs import answer_bytes
from surplus.engine.serving.wire import join_infer_response

_InferResponse = message_type("ModelInferResponse")
_INTEGER_FIELDS = ("int64_param", "uint64_param")


def decode_query(
    request: Any,
    raw_inputs: Sequence[Buffer],
    received_ns: int,
    remaining_s: float | None,
    regions: SharedRegions,
    share: MemoryShare | None = None,
    trace_parent: str = "",
) -> InferQuery:
    """Make a query of a request.

    Parameters
    ----------
    request : ModelInferRequest
        Without its raw inputs, or with them.
    raw_inputs : sequence of buffers
        The raw inputs; empty if the request has typed contents.
    received_ns : int
        When the request arrived, monotonic.
    remaining_s : float or None
        What is left of the client's own deadline; None if it set none.
    regions : SharedRegions
        Where inputs in shared memory are read.
    share : MemoryShare, optional
        Counts strings, and what is read, before they are made.
    trace_parent : str
        W3C's, of the call's metadata.

    Raises
    ------
    InputError
        If contents do not fit datatype and shape, or a parameter is wrong.
    SharedMemoryError
        If an input's region is not there, or cannot be read.
    MemoryLimitError
        If the server has no room for the values.
    """
    deadline_ns, priority = decode_urgency(request, received_ns, remaining_s)
    return InferQuery(
        inputs=list(_decode_inputs(request, raw_inputs, regions, share)),
        outputs=[output.name for output in request.outputs],
        received_ns=received_ns,
        deadline_ns=deadline_ns,
        priority=priority,
        id=request.id,
        trace_parent=trace_parent,
        sequence=step_of(plain_values(request.parameters)) if request.parameters else None,
    )


def decode_urgency(
    request: Any, received_ns: int, remaining_s: float | None
) -> tuple[int | None, int]:
    """Deadline and priority of a request, as :func:`decode_query` has them; raises the same."""
    parameters = request.parameters
    timeouts_ns = [] if remaining_s is None else [int(remaining_s * 1e9)]
    timeout_us = _integer(parameters, "timeout")
    if timeout_us:  # 0 is Triton's "no timeout"
        timeouts_ns.append(timeout_us * 1000)
    return deadline_after(received_ns, timeouts_ns), _integer(parameters, "priority")


def decode_outputs(request: Any, regions: SharedRegions) -> Outputs:
    """How the outputs of a request are wanted.

    Raises
    ------
    InputError, UnknownRegionError
        If a parameter is wrong, or names a region that is not there.
    """
    deliveries = {
        output.name: delivery_of(output.name, plain_values(output.parameters))
        for output in request.outputs
        if output.parameters
    }
    return Outputs(deliveries, regions)


def encode_answer(
    model: ServedModel,
    request_id: str,
    wanted: Outputs,
    outputs: Mapping[str, Array],
    share: MemoryShare | None = None,
) -> bytes:
    """Serialise an answer; outputs travel raw, as Triton sends them, or in shared memory.

    Parameters
    ----------
    share : MemoryShare, optional
        Counts what the answer takes, before it is made.

    Raises
    ------
    MemoryLimitError
        If the server has no room for it.
    EngineError
        If an output cannot be delivered as it is wanted, or the protocol has no datatype for it.
    """
    response = _InferResponse(model_name=model.name, model_version=model.version, id=request_id)
    raw_outputs: list[Any] = []
    for name, output in outputs.items():
        datatype, array = wanted.shown(model, name, output)
        if share is not None:
            share.take(answer_bytes(array, as_text=False), f"output {name!r}")
        response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        # Each output has raw contents, so that clients find theirs by its number.
        raw_outputs.append(b"" if wanted.put_away(name, array) else encode_raw(array))
    return join_infer_response(response, raw_outputs)


def _decode_inputs(
    request: Any,
    raw_inputs: Sequence[Buffer],
    regions: SharedRegions,
    share: MemoryShare | None,
) -> Iterator[tuple[str, Array]]:
    parts = [part_of("input", t.name, plain_values(t.parameters)) for t in request.inputs]
    sent = sum(part is None for part in parts)
    if raw_inputs and len(raw_inputs) != sent:
        raise InputError(
            f"{len(raw_inputs)} raw_input_contents for {sent} inputs; expected one each"
        )
    raw = iter(raw_inputs)
    for tensor, part in zip(request.inputs, parts, strict=True):
        name, datatype, shape = tensor.name, tensor.datatype, tensor.shape
        if (raw_inputs or part is not None) and tensor.HasField("contents"):
            other = "raw_input_contents" if part is None else "shared memory"
            raise InputError(f"input {name!r}: both contents and {other} are given")
        if part is not None:
            yield name, decode_raw(name, datatype, shape, regions.read(name, part, share), share)
        elif raw_inputs:
            yield name, decode_raw(name, datatype, shape, next(raw), share)
        else:
            yield name, decode_typed(name, datatype, shape, tensor.contents)


def plain_values(parameters: Any) -> dict[str, Any]:
    """Parameters of a message by name; None for one without a value."""
    return {name: _value(parameter) for name, parameter in parameters.items()}


def _value(parameter: Any) -> Any:
    field = parameter.WhichOneof("parameter_choice")
    return None if field is None else getattr(parameter, field)


def _integer(parameters: Any, name: str) -> int:
    """A non-negative integer parameter; 0 if it is not there."""
    if not parameters or name not in parameters:
        return 0
    parameter = parameters[name]
    field = parameter.WhichOneof("parameter_choice")
    if field not in _INTEGER_FIELDS:
        raise InputError(f"parameter {name!r}: expected an integer, got {field or 'nothing'}")
    value: int = getattr(parameter, field)
    if value < 0:
        raise InputError(f"parameter {name!r}: expected 0 or more, got {value}")
    return value
