"""The messages of the Open Inference Protocol that a load generator needs.

They live in a private descriptor pool: other clients of the protocol (Triton's among them)
register the same names in protobuf's default pool, and a process may hold both. Fields that
nobody here reads (typed contents) are left out; protobuf skips them. Parameters are a map there,
and rows of key and value here: the same bytes.

References
----------
KServe, Open Inference Protocol, gRPC API, ``service GRPCInferenceService``; Triton Inference
Server, protocol extension "Shared memory".
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "/inference.GRPCInferenceService/"

_Field = descriptor_pb2.FieldDescriptorProto
_STRING, _BYTES, _BOOL = _Field.TYPE_STRING, _Field.TYPE_BYTES, _Field.TYPE_BOOL
_INT64, _UINT64 = _Field.TYPE_INT64, _Field.TYPE_UINT64
_ONE, _MANY = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED

_TENSOR = [
    ("name", 1, _ONE, _STRING),
    ("datatype", 2, _ONE, _STRING),
    ("shape", 3, _MANY, _INT64),
    ("parameters", 4, _MANY, "Parameter"),
]
_MODEL = [("model_name", 1, _ONE, _STRING), ("model_version", 2, _ONE, _STRING)]
_ID = ("id", 3, _ONE, _STRING)

_MESSAGES: dict[str, list[tuple[str, int, int, Any]]] = {
    "ParameterValue": [
        ("bool_param", 1, _ONE, _BOOL),
        ("int64_param", 2, _ONE, _INT64),
        ("string_param", 3, _ONE, _STRING),
    ],
    "Parameter": [("key", 1, _ONE, _STRING), ("value", 2, _ONE, "ParameterValue")],
    "Tensor": _TENSOR,
    "RequestedOutput": [("name", 1, _ONE, _STRING), ("parameters", 2, _MANY, "Parameter")],
    "ModelMetadataRequest": [("name", 1, _ONE, _STRING), ("version", 2, _ONE, _STRING)],
    "ModelMetadataResponse": [
        ("name", 1, _ONE, _STRING),
        ("versions", 2, _MANY, _STRING),
        ("platform", 3, _ONE, _STRING),
        ("inputs", 4, _MANY, "Tensor"),
        ("outputs", 5, _MANY, "Tensor"),
    ],
    "ModelInferRequest": [
        *_MODEL,
        _ID,
        ("parameters", 4, _MANY, "Parameter"),
        ("inputs", 5, _MANY, "Tensor"),
        ("outputs", 6, _MANY, "RequestedOutput"),
        ("raw_input_contents", 7, _MANY, _BYTES),
    ],
    "ModelInferResponse": [
        *_MODEL,
        _ID,
        ("outputs", 5, _MANY, "Tensor"),
        ("raw_output_contents", 6, _MANY, _BYTES),
    ],
    "SystemSharedMemoryRegisterRequest": [
        ("name", 1, _ONE, _STRING),
        ("key", 2, _ONE, _STRING),
        ("offset", 3, _ONE, _UINT64),
        ("byte_size", 4, _ONE, _UINT64),
    ],
    "SystemSharedMemoryUnregisterRequest": [("name", 1, _ONE, _STRING)],
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="loadgen/open_inference.proto", package="inference", syntax="proto3"
    )
    for message, fields in _MESSAGES.items():
        rows = file.message_type.add(name=message)
        for name, number, label, kind in fields:
            row = rows.field.add(name=name, number=number, label=label)
            if isinstance(kind, str):
                row.type, row.type_name = _Field.TYPE_MESSAGE, f".inference.{kind}"
            else:
                row.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"inference.{name}") for name in _MESSAGES)
    return {d.name: message_factory.GetMessageClass(d) for d in found}


_CLASSES = _classes()
ModelMetadataRequest: Any = _CLASSES["ModelMetadataRequest"]
ModelMetadataResponse: Any = _CLASSES["ModelMetadataResponse"]
ModelInferRequest: Any = _CLASSES["ModelInferRequest"]
ModelInferResponse: Any = _CLASSES["ModelInferResponse"]
SharedMemoryRegisterRequest: Any = _CLASSES["SystemSharedMemoryRegisterRequest"]
SharedMemoryUnregisterRequest: Any = _CLASSES["SystemSharedMemoryUnregisterRequest"]
