import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.loadgen.clients.protocol import (
    SERVICE,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
)


def _load(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clock():
    return _load("fake_clock").FakeClock()


class IdentityServer:
    """Serves ``identity`` and ``twin`` (FP32, one open dimension); ``fail`` is every status."""

    def __init__(self):
        self.requests = []
        self.fail = None
        self.url = ""
        self.end = lambda: None

    def metadata(self, request, context):
        if request.name == "two lines":
            context.abort(grpc.StatusCode.INTERNAL, "one\ntwo")
        if request.name not in ("identity", "twin"):
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {request.name!r}")
        answer = ModelMetadataResponse(name=request.name, versions=["1"], platform="test")
        answer.inputs.add(name="x:0", datatype="FP32", shape=[-1, 4])
        answer.outputs.add(name="y", datatype="FP32", shape=[-1, 4])
        return answer

    def infer(self, request, context):
        self.requests.append(request)
        if self.fail is not None:
            context.abort(self.fail, "as told")
        return ModelInferResponse(
            model_name=request.model_name,
            outputs=request.inputs,
            raw_output_contents=request.raw_input_contents,
        )


def _handlers(server):
    def method(call, request, answer):
        return grpc.unary_unary_rpc_method_handler(
            call, request.FromString, answer.SerializeToString
        )

    methods = {
        "ModelMetadata": method(server.metadata, ModelMetadataRequest, ModelMetadataResponse),
        "ModelInfer": method(server.infer, ModelInferRequest, ModelInferResponse),
    }
    return grpc.method_handlers_generic_handler(SERVICE.strip("/"), methods)


@pytest.fixture
def identity():
    # Not grpc.aio: its server would share one poller with the client under test.
    identity = IdentityServer()
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((_handlers(identity),))
    identity.url = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    identity.end = lambda: server.stop(grace=None).wait()
    server.start()
    yield identity
    identity.end()


@pytest.fixture
def small_model(tmp_path):
    """``y = x + x`` of FP32, one open dimension."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "small", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "small.onnx")
    return tmp_path / "small.onnx"
