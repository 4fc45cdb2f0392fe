import asyncio
import subprocess
import sys

import numpy as np
import pytest

from surplus.loadgen.clients.in_process import InProcessClient
from surplus.loadgen.clients.inputs import (
    InputParams,
    ModelInput,
    TensorMetadata,
    make_inputs,
    make_queries,
)
from surplus.loadgen.clients.protocol import ModelInferRequest
from surplus.loadgen.clients.tensors import DATATYPES, FILLS, from_array
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.errors import ClientError, PayloadError
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.progress import fraction

_ITEM_BYTES = {"BOOL": 1, "BF16": 2, "FP16": 2, "FP32": 4, "FP64": 8, "BYTES": None}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("datatype", DATATYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (2, 1, 3)])
def test_made_tensors_have_the_bytes_of_their_type_and_shape(fill, datatype, shape):
    tensor = FILLS[fill]("x", datatype, shape, np.random.default_rng(0))
    count = int(np.prod(shape))
    if datatype == "BYTES":
        assert len(tensor.raw) == count * (12 if fill == "random" else 4)
    else:
        width = _ITEM_BYTES.get(datatype) or int(datatype.strip("UINT")) // 8
        assert len(tensor.raw) == count * width


def test_strings_are_packed_with_their_length():
    tensor = from_array("s", np.array(["a", "bcd"]))
    assert tensor.datatype == "BYTES"
    assert tensor.raw == b"\x01\0\0\0a\x03\0\0\0bcd"


def test_an_array_of_another_dtype_is_refused_by_name():
    with pytest.raises(PayloadError, match="input 'x': dtype complex64"):
        from_array("x", np.zeros(1, np.complex64))


def test_names_may_hold_colons_and_shapes_may_be_scalar():
    assert ModelInput.parse("a:0:1,2:FP32") == ModelInput("a:0", (1, 2), "FP32", "random")
    assert ModelInput.parse("a::INT64:zeros") == ModelInput("a", (), "INT64", "zeros")


def test_inputs_keep_the_order_of_the_model():
    metadata = [TensorMetadata("a", "INT64", (2,)), TensorMetadata("b", "FP32", (1,))]
    made = make_inputs(InputParams(specs=(ModelInput("b", (3,), "FP32"),)), metadata)
    assert [(tensor.name, tensor.shape) for tensor in made] == [("a", (2,)), ("b", (3,))]
    assert set(np.frombuffer(made[0].raw, "<i8")) <= {0, 1}


def test_queries_take_turns_through_the_files_of_a_folder(tmp_path):
    metadata = [TensorMetadata("x", "FP32", (1,)), TensorMetadata("n", "INT64", (1,))]
    for k in (2, 0, 1):
        np.savez(tmp_path / f"{k}.npz", x=np.float32([k]))
    queries = make_queries(InputParams(file=tmp_path), metadata)
    assert [query[0].raw for query in queries] == [np.float32([k]).tobytes() for k in range(3)]
    assert [query[1].name for query in queries] == ["n"] * 3  # made up
    (tmp_path / "empty").mkdir()
    with pytest.raises(PayloadError, match=r"no .npz in .*empty"):
        make_queries(InputParams(file=tmp_path / "empty"), metadata)


def test_in_process_client_passes_the_query_on_and_its_failure_back():
    def call(query):
        if query:
            raise ClientError("refused")

    client = InProcessClient(call, threads=1)
    asyncio.run(client.send(0))
    with pytest.raises(ClientError, match="refused"):
        asyncio.run(client.send(1))
    client.close()


@pytest.mark.parametrize("first", ["surplus.loadgen.clients.protocol", "tritonclient.grpc"])
def test_protocol_shares_a_process_with_triton_s_client(first):
    second = {"tritonclient.grpc": "surplus.loadgen.clients.protocol"}.get(
        first, "tritonclient.grpc"
    )
    code = f"""
import {first}, {second}
from tritonclient.grpc import service_pb2
from surplus.loadgen.clients.protocol import ModelInferRequest
ours = ModelInferRequest(model_name="m", raw_input_contents=[b"1"])
ours.inputs.add(name="x", datatype="FP32", shape=[1, 2])
theirs = service_pb2.ModelInferRequest.FromString(ours.SerializeToString())
assert theirs.inputs[0].name == "x" and list(theirs.inputs[0].shape) == [1, 2]
assert theirs.raw_input_contents[0] == b"1" and theirs.model_name == "m"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fields_that_we_leave_out_are_skipped():
    unknown = b"\x22\x03\x0a\x01k"  # parameters (field 4) with one entry
    assert ModelInferRequest.FromString(b"\x0a\x01m" + unknown).model_name == "m"


@pytest.mark.parametrize(
    ("text", "ns"),
    [("10s", 10**10), ("500ms", 5 * 10**8), ("2m", 12 * 10**10), ("0.5", 5 * 10**8), ("7us", 7000)],
)
def test_durations(text, ns):
    assert parse_duration_ns(text) == ns


def test_progress_is_the_lesser_of_time_and_count():
    load = LoadgenParams(min_duration_ns=100, min_count=10, warmup_ns=100)
    assert fraction(load, 100, 10) == 0.5
    assert fraction(load, 400, 2) == 0.2
    assert fraction(load, 400, 20) == 1.0
