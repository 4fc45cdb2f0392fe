"""ModelInfer's messages to a query, and its outputs back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surplus.engine.errors import ExecutionError, InputError
from surplus.engine.serving.codec import Buffer, decode_raw, decode_typed, encode_raw
from surplus.engine.serving.data_plane import InferQuery, deadline_after
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.wire import join_infer_response

_InferResponse = message_type("ModelInferResponse")
_INTEGER_FIELDS = ("int64_param", "uint64_param")


def decode_query(
    request: Any, raw_inputs: Sequence[Buffer], received_ns: int, remaining_s: float | None
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

    Raises
    ------
    InputError
        If contents do not fit datatype and shape, or a parameter is wrong or not supported.
    """
    deadline_ns, priority = decode_urgency(request, received_ns, remaining_s)
    return InferQuery(
        inputs=list(_decode_inputs(request, raw_inputs)),
        outputs=[_output_name(output) for output in request.outputs],
        received_ns=received_ns,
        deadline_ns=deadline_ns,
        priority=priority,
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


def encode_answer(model: ServedModel, request_id: str, outputs: Mapping[str, Array]) -> bytes:
    """Serialise an answer; outputs travel raw, as Triton sends them.

    Raises
    ------
    ExecutionError
        If the protocol has no datatype for an output.
    """
    response = _InferResponse(model_name=model.name, model_version=model.version, id=request_id)
    raw_outputs = []
    for name, array in outputs.items():
        try:
            datatype = datatype_of(array)
        except ValueError as error:
            raise ExecutionError(f"{model}, output {name!r}: {error}") from error
        response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        raw_outputs.append(encode_raw(array))
    return join_infer_response(response, raw_outputs)


def _decode_inputs(request: Any, raw_inputs: Sequence[Buffer]) -> Iterator[tuple[str, Array]]:
    tensors = request.inputs
    if raw_inputs and len(raw_inputs) != len(tensors):
        raise InputError(
            f"{len(raw_inputs)} raw_input_contents for {len(tensors)} inputs; expected one each"
        )
    for index, tensor in enumerate(tensors):
        if tensor.parameters and "shared_memory_region" in tensor.parameters:
            raise InputError(f"input {tensor.name!r}: shared memory is not supported")
        name, datatype, shape = tensor.name, tensor.datatype, tensor.shape
        if not raw_inputs:
            yield name, decode_typed(name, datatype, shape, tensor.contents)
        elif tensor.HasField("contents"):
            raise InputError(f"input {name!r}: both contents and raw_input_contents are given")
        else:
            yield name, decode_raw(name, datatype, shape, raw_inputs[index])


def _output_name(output: Any) -> str:
    parameters = output.parameters
    if parameters and "shared_memory_region" in parameters:
        raise InputError(f"output {output.name!r}: shared memory is not supported")
    if _integer(parameters, "classification"):
        raise InputError(f"output {output.name!r}: classification is not supported")
    name: str = output.name
    return name


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
