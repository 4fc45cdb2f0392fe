"""Queries whose tensors lie in shared memory, against a server that has regions."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import numpy as np
import pytest

from surplus.loadgen.address import HostPort
from surplus.loadgen.cli import main
from surplus.loadgen.clients.protocol import (
    SERVICE,
    ModelInferRequest,
    ModelInferResponse,
    SharedMemoryRegisterRequest,
    SharedMemoryUnregisterRequest,
)
from surplus.loadgen.clients.shared_queries import SharedQueries
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.errors import TargetError
from surplus.loadgen.native import http2_missing

_SHARED = Path("/dev/shm")
A = from_array("a", np.arange(4, dtype=np.float32))
B = from_array("b", np.arange(6, dtype=np.int64))


class RegionServer:
    """Gives back what it gets, from regions into regions where parameters say so."""

    def __init__(self):
        self.regions = {}
        self.used = []
        self.refuses = False

    def register(self, request, context):
        if self.refuses:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no regions here")
        assert (_SHARED / request.key.strip("/")).stat().st_size == request.byte_size
        self.regions[request.name] = request.key
        return SharedMemoryRegisterRequest()

    def unregister(self, request, context):
        del self.regions[request.name]
        return SharedMemoryUnregisterRequest()

    def infer(self, request, context):
        answer = ModelInferResponse(model_name=request.model_name)
        for k, tensor in enumerate(request.inputs):
            place = _place(tensor)
            raw = self._read(place) if place else request.raw_input_contents[k]
            answer.outputs.add(name=f"{tensor.name}2", datatype=tensor.datatype)
            if request.outputs:
                self._write(_place(request.outputs[k]), raw)
            else:
                answer.raw_output_contents.append(raw)
        return answer

    def _read(self, place):
        name, offset, size = place
        self.used.append(name)
        return (_SHARED / self.regions[name].strip("/")).read_bytes()[offset : offset + size]

    def _write(self, place, raw):
        name, offset, size = place
        assert size == len(raw)
        self.used.append(name)
        with (_SHARED / self.regions[name].strip("/")).open("r+b") as file:
            file.seek(offset)
            file.write(raw)


def _place(tensor):
    found = {row.key: row.value for row in tensor.parameters}
    if not found:
        return None
    offset = found.get("shared_memory_offset")
    size = found["shared_memory_byte_size"].int64_param
    return found["shared_memory_region"].string_param, offset.int64_param if offset else 0, size


@pytest.fixture
def regions():
    owner = RegionServer()

    def method(call, request, answer):
        return grpc.unary_unary_rpc_method_handler(
            call, request.FromString, answer.SerializeToString
        )

    register, unregister = SharedMemoryRegisterRequest, SharedMemoryUnregisterRequest
    methods = {
        "ModelInfer": method(owner.infer, ModelInferRequest, ModelInferResponse),
        "SystemSharedMemoryRegister": method(owner.register, register, register),
        "SystemSharedMemoryUnregister": method(owner.unregister, unregister, unregister),
    }
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE.strip("/"), methods),)
    )
    owner.address = HostPort("127.0.0.1", server.add_insecure_port("127.0.0.1:0"))
    server.start()
    yield owner
    server.stop(grace=None).wait()


def _files():
    return set(_SHARED.glob("loadgen-*"))


def test_tensors_are_read_and_written_where_they_lie(regions):
    before = _files()
    with SharedQueries(regions.address, "m", "", [A, B], copies=2) as messages:
        requests = [ModelInferRequest.FromString(message) for message in messages]
        assert not any(request.raw_input_contents for request in requests)
        regions.infer(requests[1], None)
        given, taken = sorted(set(regions.used))
        assert (given[-3:], taken[-5:]) == ("-in", "-out1")
        assert (_SHARED / taken).read_bytes() == A.raw + B.raw
        assert len(regions.regions) == 3
    assert regions.regions == {}
    assert _files() == before


def test_a_server_without_regions_is_refused_and_nothing_stays(regions):
    before = _files()
    regions.refuses = True
    with (
        pytest.raises(TargetError, match=r"refused SystemSharedMemoryRegister: UNIMPL.*no regions"),
        SharedQueries(regions.address, "m", "", [A], copies=1),
    ):
        pass
    assert _files() == before


def test_a_server_that_forgot_its_regions_is_no_failure(regions):
    before = _files()
    with SharedQueries(regions.address, "m", "", [A], copies=1):
        regions.regions.clear()
    assert _files() == before


def test_no_copies_are_refused(regions):
    with pytest.raises(ValueError, match="copies must be >= 1, got 0"):
        SharedQueries(regions.address, "m", "", [A], copies=0)


@pytest.mark.skipif(http2_missing() is not None, reason=str(http2_missing()))
def test_the_command_says_that_a_server_has_none(identity, capsys):
    options = ["--model", "identity", "--shape", "x:0:2,4", "--count", "1", "--shared-memory"]
    assert main(["--url", identity.url, *options]) == 1
    assert "refused SystemSharedMemoryRegister" in capsys.readouterr().err
