"""Inference requests in JSON to a query, and its outputs back.

Binary tensor data extension: the body is a JSON document of ``Inference-Header-Content-Length``
bytes, then the bytes of each tensor that has a ``binary_data_size``, in the order of the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.codec import Buffer, decode_raw, encode_raw
from surplus.engine.serving.data_plane import InferQuery, deadline_after
from surplus.engine.serving.json_document import JsonAnswer, JsonDocument
from surplus.engine.serving.json_values import decode_json
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.outputs import Outputs
from surplus.engine.serving.sequences.sequence_step import step_of
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.tensor_parameters import REGION, delivery_of, part_of
from surplus.engine.serving.value_costs import answer_bytes

HEADER_LENGTH = "Inference-Header-Content-Length"

_MOST_DIGITS = 20
_SIZE = "binary_data_size"
_TYPES = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class InferRequest:
    """A decoded request.

    Parameters
    ----------
    query : InferQuery
        What the data plane runs.
    wanted : Outputs
        How its outputs are delivered.
    request_id : str
        To be sent back.
    binary : bool
        Whether outputs travel as bytes where the request says nothing of them.
    binary_of : mapping of str to bool
        What it says of some.
    """

    query: InferQuery
    wanted: Outputs
    request_id: str = ""
    binary: bool = False
    binary_of: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class InferAnswer:
    """A body, and the length of the JSON document in it if tensors follow that."""

    body: bytes
    header_length: int | None


def decode_request(
    body: Buffer,
    header_length: str | None,
    received_ns: int,
    regions: SharedRegions,
    share: MemoryShare | None = None,
    trace_parent: str = "",
) -> InferRequest:
    """Make a query of a request's body.

    Parameters
    ----------
    header_length : str or None
        The header of that name, if there is one.
    regions : SharedRegions
        Where tensors in shared memory are.
    share : MemoryShare, optional
        Counts what values take beyond the body, before they are made.
    trace_parent : str
        The header of that name.

    Raises
    ------
    InputError
        If the body is no such request; the message says where.
    SharedMemoryError
        If a region that it names is not there, or cannot be read.
    MemoryLimitError
        If the server has no room for its values.
    """
    length = _header_length(header_length, len(body))
    text = bytes(memoryview(body)[:length])
    parsed = JsonDocument(text, share)
    document = _object(parsed.value, "the request")
    parameters = _get(document, "parameters", dict, {})
    outputs = [_object(row, "outputs") for row in _get(document, "outputs", list, [])]
    timeout_us = _number(parameters, "timeout")
    query = InferQuery(
        inputs=list(_inputs(parsed, memoryview(body)[length:], regions, share)),
        outputs=[_get(output, "name", str) for output in outputs],
        received_ns=received_ns,
        deadline_ns=deadline_after(received_ns, [timeout_us * 1000] if timeout_us else []),
        priority=_number(parameters, "priority"),
        id=_get(document, "id", str, ""),
        trace_parent=trace_parent,
        sequence=step_of(parameters),
    )
    return InferRequest(
        query=query,
        request_id=query.id,
        binary=_get(parameters, "binary_data_output", bool, False),
        binary_of={output["name"]: found for output in outputs for found in _binary(output)},
        wanted=_wanted(outputs, regions),
    )


def encode_answer(
    model: ServedModel,
    request: InferRequest,
    outputs: Mapping[str, Array],
    share: MemoryShare | None = None,
) -> InferAnswer:
    """Serialise an answer, each output in JSON or as bytes, as the request wants.

    Parameters
    ----------
    share : MemoryShare, optional
        Counts what the answer takes, before it is made.

    Raises
    ------
    MemoryLimitError
        If the server has no room for it.
    EngineError
        If an output cannot be delivered as it is wanted, JSON cannot carry one that is wanted in
        it, or the protocol has no datatype for it.
    """
    rows: list[dict[str, Any]] = []
    tensors: list[Any] = []
    written = JsonAnswer()
    for name, output in outputs.items():
        datatype, array = request.wanted.shown(model, name, output)
        row: dict[str, Any] = {"name": name, "datatype": datatype, "shape": list(array.shape)}
        as_bytes = request.binary_of.get(name, request.binary)
        if share is not None:
            share.take(answer_bytes(array, as_text=not as_bytes), f"output {name!r}")
        if request.wanted.put_away(name, array):
            pass  # the answer says no more of it
        elif as_bytes:
            tensors.append(encode_raw(array))
            row["parameters"] = {_SIZE: len(tensors[-1])}
        else:
            row["data"] = written.data(name, array)
        rows.append(row)
    document: dict[str, Any] = {"model_name": model.name, "model_version": model.version}
    if request.request_id:
        document["id"] = request.request_id
    head = written.encoded({**document, "outputs": rows})
    if not tensors:
        return InferAnswer(head, None)
    return InferAnswer(b"".join([head, *tensors]), len(head))


def _header_length(text: str | None, body_bytes: int) -> int:
    if text is None:
        return body_bytes
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not (is_number and int(text) <= body_bytes):
        shown = text[:_MOST_DIGITS]
        raise InputError(f"{HEADER_LENGTH}: {shown!r} of a body of {body_bytes} bytes")
    return int(text)


def _inputs(
    document: JsonDocument, raw: memoryview, regions: SharedRegions, share: MemoryShare | None
) -> Iterator[tuple[str, Array]]:
    position = 0
    for row in _get(document.value, "inputs", list):
        tensor = _object(row, "inputs")
        name, datatype = _get(tensor, "name", str), _get(tensor, "datatype", str)
        shape = _shape(name, tensor)
        parameters: dict[str, Any] = _get(tensor, "parameters", dict, {})
        _check_one_place(name, tensor, parameters)
        part = part_of("input", name, parameters)
        if part is not None:
            yield name, decode_raw(name, datatype, shape, regions.read(name, part, share), share)
            continue
        if _SIZE not in parameters:
            yield name, decode_json(name, datatype, shape, document.data(tensor.get("data")))
            continue
        size = _number(parameters, _SIZE)
        data: Buffer = raw[position : position + size]
        if len(data) < size:
            raise InputError(f"input {name!r}: {_SIZE} is {size}, {len(data)} bytes are left")
        position += size
        yield name, decode_raw(name, datatype, shape, data, share)
    if position != len(raw):
        raise InputError(f"{len(raw) - position} bytes are left over after the inputs")


def _check_one_place(name: str, tensor: dict[str, Any], parameters: dict[str, Any]) -> None:
    given = [place for place in (_SIZE, REGION) if place in parameters]
    if "data" in tensor:
        given.insert(0, "data")
    if len(given) > 1:
        raise InputError(f"input {name!r}: both {' and '.join(given)} are given")


def _shape(name: str, tensor: dict[str, Any]) -> list[int]:
    shape: list[int] = _get(tensor, "shape", list)
    if not all(type(size) is int and abs(size) < 2**63 for size in shape):
        raise InputError(f"input {name!r}: shape must be a list of integers")
    return shape


def _wanted(outputs: list[dict[str, Any]], regions: SharedRegions) -> Outputs:
    found = ((output["name"], _get(output, "parameters", dict, {})) for output in outputs)
    return Outputs({name: delivery_of(name, values) for name, values in found if values}, regions)


def _binary(output: dict[str, Any]) -> Iterator[bool]:
    """What an output's parameters say of its form, if anything."""
    parameters: dict[str, Any] = _get(output, "parameters", dict, {})
    if "binary_data" in parameters:
        binary = _get(parameters, "binary_data", bool)
        if binary and REGION in parameters:
            name = output["name"]
            raise InputError(f"output {name!r} can't set both {REGION!r} and 'binary_data'")
        yield binary


def _number(parameters: dict[str, Any], name: str) -> int:
    """A non-negative integer; 0 if it is not there."""
    value: int = _get(parameters, name, int, 0)
    if value < 0:
        raise InputError(f"parameter {name!r}: expected 0 or more, got {value}")
    return value


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object")
    return value


def _get(document: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A member of that type; without a default it must be there."""
    value = document.get(name, default)
    if type(value) is not kind:
        raise InputError(f"{name!r} must be {_TYPES[kind]}")
    return value
