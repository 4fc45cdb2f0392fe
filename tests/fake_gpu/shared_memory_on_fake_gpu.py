"""A client puts tensors into the fake GPU's memory and names it in queries, over both faces.

Run in a process whose CUDA libraries are the fake ones. The client is in the server's process: the
fake's memory is that of one process.
"""

from __future__ import annotations

import base64
import ctypes
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

import surplus
from surplus.engine.serving.server_params import FrontEnd

LIBRARY = ctypes.CDLL(os.environ["SURPLUS_CUDA_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
VALUES = np.arange(16, dtype=np.float32)


class Memory:
    """Memory of the GPU, and what others open it by."""

    def __init__(self, size_bytes: int) -> None:
        self.address = ctypes.c_void_p()
        assert LIBRARY.cudaMalloc(ctypes.byref(self.address), ctypes.c_size_t(size_bytes)) == 0
        handle = (ctypes.c_char * 64)()
        assert LIBRARY.cudaIpcGetMemHandle(handle, self.address) == 0
        self.handle = base64.b64encode(bytes(handle))
        self.array = np.ctypeslib.as_array(
            ctypes.cast(self.address, ctypes.POINTER(ctypes.c_float)), (size_bytes // 4,)
        )


def negated(client, module, given: Memory, wanted: Memory) -> np.ndarray:
    """What a query leaves in the GPU's memory."""
    asked = module.InferInput("x", [16], "FP32")
    asked.set_shared_memory("given", 64)
    output = module.InferRequestedOutput("y")
    output.set_shared_memory("wanted", 64, offset=64)
    wanted.array[:] = 7
    client.infer("negated", [asked], outputs=[output])
    assert (wanted.array[:16] == 7).all()
    return wanted.array[16:32].copy()


def refused(call, *words: str) -> None:
    with pytest.raises(InferenceServerException) as caught:
        call()
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.fixture(params=["native", "python"])
def clients(request: pytest.FixtureRequest, tmp_path: Path):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [16]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "negated", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    faces = {"port": 0, "http_port": 0, "front_end": FrontEnd(request.param)}
    with surplus.Server({"negated": tmp_path / "m.onnx"}, **faces) as server:
        rest = http.InferenceServerClient(server.http_address)
        yield ((grpc.InferenceServerClient(server.address), grpc), (rest, http))
        rest.close()
    assert LIBRARY.fakeCudaOpenHandles() == 0
    assert LIBRARY.fakeCudaViolations(None, 0) == 0


def test_tensors_lie_in_the_gpus_memory(clients) -> None:
    given, wanted = Memory(64), Memory(128)
    given.array[:] = VALUES
    for client, module in clients:
        client.register_cuda_shared_memory("given", given.handle, 0, 64)
        client.register_cuda_shared_memory("wanted", wanted.handle, 0, 128)
        assert np.array_equal(negated(client, module, given, wanted), -VALUES)
        client.unregister_cuda_shared_memory("given")
        refused(lambda c=client, m=module: negated(c, m, given, wanted), "given")
        client.unregister_cuda_shared_memory()
    assert clients[1][0].get_cuda_shared_memory_status() == []


def test_what_cannot_be_registered_is_said(clients) -> None:
    memory = Memory(64)
    for client, _ in clients:

        def register(name: str, handle: bytes, gpu: int, size_bytes: int, client=client) -> None:
            client.register_cuda_shared_memory(name, handle, gpu, size_bytes)

        register("there", memory.handle, 0, 64)
        refused(lambda r=register: r("there", memory.handle, 0, 64), "there", "already")
        refused(lambda r=register: r("x", memory.handle, 0, 65), "'x'", "65 bytes")
        refused(lambda r=register: r("x", memory.handle, 9, 64), "'x'", "no GPU 9")
        refused(lambda r=register: r("x", b"AAAA", 0, 64), "'x'", "64 bytes")
        rows = clients[1][0].get_cuda_shared_memory_status()
        assert rows == [{"name": "there", "device_id": 0, "byte_size": 64}]
        client.unregister_cuda_shared_memory("there")
