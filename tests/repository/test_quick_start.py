"""Repositories of Triton's quick start and examples are served unchanged."""

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from onnx.reference import ReferenceEvaluator
from tritonclient.utils import InferenceServerException

from surplus.engine.serving.server_params import FrontEnd
from tests.repository.quick_start import (
    SIDE,
    batched_repository,
    classifier,
    densenet_repository,
)
from tests.repository.serving_repositories import ask, served_repository


@pytest.fixture(scope="module", params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def served(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    batched_repository(densenet_repository(root))
    thread = served_repository(root, tmp_path_factory.mktemp("cache"), request.param)
    yield thread
    thread.stop()


@pytest.fixture(scope="module")
def client(served):
    with triton.InferenceServerClient(served.url) as client:
        yield client


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(2).standard_normal((3, SIDE, SIDE)).astype(np.float32)


def scores(image):
    return ReferenceEvaluator(classifier()).run(None, {"data_0": image[None]})[0].reshape(-1)


def test_clients_see_the_shapes_of_the_configuration(client):
    found = client.get_model_metadata("densenet_onnx")
    assert found.platform == "onnxruntime_onnx"
    assert list(found.inputs[0].shape) == [3, SIDE, SIDE]
    assert list(found.outputs[0].shape) == [10]
    config = client.get_model_config("densenet_onnx").config
    assert list(config.input[0].reshape.shape) == [1, 3, SIDE, SIDE]
    assert config.output[0].label_filename == "densenet_labels.txt"


def test_the_model_is_given_its_own_shape(client, image):
    answer = ask(client, "densenet_onnx", image, "fc6_1")
    np.testing.assert_allclose(answer, scores(image), rtol=1e-4, atol=1e-4)
    with pytest.raises(InferenceServerException, match=r"expected shape \[3, 8, 8\]"):
        ask(client, "densenet_onnx", image[None], "fc6_1")


def test_classes_have_labels(client, image):
    found = ask(client, "densenet_onnx", image, "fc6_1", class_count=3)
    best = np.argsort(-scores(image))[:3]
    assert [text.decode().split(":")[1:] for text in found] == [
        [str(place), f"CLASS {place}"] for place in best
    ]


def test_a_batch_dimension_stands_before_dims(client):
    assert list(client.get_model_metadata("onnx_batched").inputs[0].shape) == [-1, 4]
    config = client.get_model_config("onnx_batched").config
    assert (config.max_batch_size, list(config.input[0].dims)) == (8, [4])
    assert config.parameters["team"].string_value == "vision"
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(ask(client, "onnx_batched", rows), 2 * rows)
    found = ask(client, "onnx_batched", rows, class_count=1)
    assert [text.split(b":")[1] for text in found[:, 0]] == [b"3"] * 3


def test_only_outputs_that_are_named_are_offered(client):
    rows = np.ones((1, 4), np.float32)
    given = triton.InferInput("INPUT0", [1, 4], "FP32")
    given.set_data_from_numpy(rows)
    answer = client.infer("onnx_batched", [given]).get_response()
    assert [output.name for output in answer.outputs] == ["OUTPUT0"]
    with pytest.raises(InferenceServerException, match="unknown output 'OUTPUT1'"):
        ask(client, "onnx_batched", rows, "OUTPUT1")


def test_rest_answers_the_whole_configuration(served):
    with triton_http.InferenceServerClient(served.http_url) as client:
        config = client.get_model_config("onnx_batched")
    assert config["max_batch_size"] == 8
    assert config["input"][0]["dims"] == [4]
    assert config["instance_group"][0]["kind"] == "KIND_CPU"
    assert config["parameters"]["team"] == {"string_value": "vision"}
