"""A thousand malformed requests: a clean status each, and the server keeps answering."""

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from tests.fuzzing_time import generator, rounds

METHOD = "/inference.GRPCInferenceService/ModelInfer"
CLEAN = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "DEADLINE_EXCEEDED"}
ROUNDS = 500


def _valid(values):
    request = service_pb2.ModelInferRequest(model_name="arithmetic", id="1")
    for name in ("a", "b"):
        request.inputs.add(name=name, datatype="FP32", shape=[values // 4, 4])
        request.raw_input_contents.append(np.zeros(values, np.float32).tobytes())
    request.outputs.add(name="sum")
    return request


@pytest.fixture(scope="module")
def send(served):
    """Send bytes as they are; returns the status code's name."""
    with grpc.insecure_channel(served.url) as channel:
        call = channel.unary_unary(METHOD)

        def send(data):
            try:
                call(data, timeout=30)
            except grpc.RpcError as error:
                return error.code().name
            return "OK"

        yield send


def _mutated(data, rng):
    """Flip, insert, delete or cut some bytes, most of them in the small fields at the front."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(min(len(data), 120)) if data else 0
        match rng.randrange(4):
            case 0 if data:
                data[at] = rng.randrange(256)
            case 1:
                data[at:at] = rng.randbytes(rng.randint(1, 8))
            case 2:
                del data[at : at + rng.randint(1, 8)]
            case _:
                del data[rng.randrange(len(data) + 1) :]
    return bytes(data)


@pytest.mark.parametrize("values", [8, 12_000])  # below and above the split of large requests
def test_mutated_bytes(send, values):
    rng = generator(values)
    data = _valid(values).SerializeToString()
    codes = {send(_mutated(data, rng)) for _ in rounds(ROUNDS // 2)}
    assert codes <= CLEAN
    assert "INVALID_ARGUMENT" in codes
    assert send(data) == "OK"


def _odd_integer(rng):
    return rng.choice([0, -1, 1, 3, 2**31, 2**62, -(2**63), 2**63 - 1])


def _odd_text(rng):
    return rng.choice(["", "a", "sum", "FP32", "BYTES", "BF16", "\0", "ü" * 5000, "%s{0}"])


def _set_odd_field(request, rng):
    tensor = rng.choice(request.inputs) if request.inputs else request.inputs.add()
    match rng.randrange(13):
        case 0:
            tensor.name = _odd_text(rng)
        case 1:
            tensor.datatype = _odd_text(rng)
        case 2:
            tensor.shape.append(_odd_integer(rng))
        case 3:
            tensor.shape[:] = [_odd_integer(rng) for _ in range(rng.randint(0, 70))]
        case 4:
            tensor.contents.fp32_contents.extend([0.0] * rng.randint(0, 9))
        case 5:
            tensor.contents.bytes_contents.append(rng.randbytes(5))
        case 6:
            request.raw_input_contents.append(rng.randbytes(rng.randint(0, 64)))
        case 7:
            del request.raw_input_contents[rng.randint(0, 1) :]
        case 8:
            request.outputs.add(name=_odd_text(rng)).parameters["classification"].bool_param = True
        case 9:
            wanted = request.outputs.add(name=rng.choice(["sum", "difference", ""]))
            wanted.parameters["classification"].int64_param = _odd_integer(rng)
        case 10:
            tensor = rng.choice([tensor, request.outputs.add(name="sum")])
            tensor.parameters["shared_memory_region"].string_param = _odd_text(rng)
            tensor.parameters["shared_memory_byte_size"].int64_param = _odd_integer(rng)
            tensor.parameters["shared_memory_offset"].int64_param = _odd_integer(rng)
        case 11:
            request.model_name = _odd_text(rng)
        case _:
            name = rng.choice(["timeout", "priority", "sequence_id", ""])
            request.parameters[name].int64_param = _odd_integer(rng)


def test_mutated_fields(send):
    rng = generator(3)
    codes = set()
    for _ in rounds(ROUNDS):
        request = _valid(8)
        for _ in range(rng.randint(1, 3)):
            _set_odd_field(request, rng)
        codes.add(send(request.SerializeToString()))
    assert codes <= CLEAN
    assert codes >= {"OK", "INVALID_ARGUMENT", "NOT_FOUND"}
    assert send(_valid(8).SerializeToString()) == "OK"


@pytest.mark.parametrize("method", ["ModelMetadata", "ModelReady", "RepositoryIndex"])
def test_other_calls_refuse_garbage(served, method):
    with grpc.insecure_channel(served.url) as channel:
        call = channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"\xff\xff\xff")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "malformed" in caught.value.details()
