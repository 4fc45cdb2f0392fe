"""Pictures as inputs."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from surplus.loadgen.clients.images import ImageParams, image_tensors
from surplus.loadgen.clients.inputs import InputParams, TensorMetadata, make_queries
from surplus.loadgen.errors import PayloadError


@pytest.fixture
def folder(tmp_path):
    Image.new("RGB", (8, 4), (255, 0, 51)).save(tmp_path / "b.png")
    Image.new("L", (5, 5), 102).save(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


def _array(tensor, dtype="<f4"):
    return np.frombuffer(tensor.raw, dtype).reshape(tensor.shape)


def test_a_picture_gets_the_model_s_size_layout_and_scale(folder):
    params = ImageParams((folder / "b.png",))
    (first,) = image_tensors(params, [("x", "FP32", (-1, 3, 2, 6))])
    assert (first.name, first.datatype, first.shape) == ("x", "FP32", (1, 3, 2, 6))
    assert _array(first)[0, :, 1, 5] == pytest.approx([1.0, 0.0, 0.2])
    (last,) = image_tensors(params, [("x", "FP32", (2, 6, 3))])
    assert _array(last)[1, 5] == pytest.approx([1.0, 0.0, 0.2])


@pytest.mark.parametrize(
    ("scaling", "values"),
    [
        ("none", [255, 0, 51]),
        ("symmetric", [1.0, -1.0, -0.6]),
        ("imagenet", [(1 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225]),
    ],
)
def test_pixels_are_scaled_as_asked(folder, scaling, values):
    params = ImageParams((folder / "b.png",), scaling)
    (tensor,) = image_tensors(params, [("x", "FP32", (1, 3, 2, 2))])
    assert _array(tensor)[0, :, 0, 0] == pytest.approx(values, abs=1e-5)


def test_bytes_are_not_scaled(folder):
    (tensor,) = image_tensors(ImageParams((folder / "b.png",)), [("x", "UINT8", (2, 2, 3))])
    assert _array(tensor, "u1")[0, 0].tolist() == [255, 0, 51]


def test_each_picture_of_a_folder_is_a_query_with_the_other_inputs(folder):
    metadata = [TensorMetadata("n", "INT64", (2,)), TensorMetadata("x", "FP32", (2, 1, 3, 3))]
    queries = make_queries(InputParams(images=ImageParams((folder,))), metadata)
    assert [[tensor.name for tensor in query] for query in queries] == [["n", "x"]] * 2
    assert queries[0][0] == queries[1][0]
    grey = _array(queries[0][1])
    assert grey.shape == (2, 1, 3, 3)
    assert grey == pytest.approx(np.full(grey.shape, 0.4))


def test_open_sides_are_given_by_a_shape(folder):
    metadata = [TensorMetadata("x", "FP32", (1, 3, -1, -1))]
    params = InputParams(images=ImageParams((folder / "b.png",)), shapes={"x": (1, 3, 4, 4)})
    assert make_queries(params, metadata)[0][0].shape == (1, 3, 4, 4)


@pytest.mark.parametrize(
    ("params", "inputs", "message"),
    [
        ({}, [("x", "FP32", (1, 4))], "the model takes no picture"),
        ({}, [("x", "FP32", (1, 3, -1, 4))], "no picture of 1 or 3 channels and a known size"),
        ({}, [("x", "BYTES", (1, 3, 4, 4))], "no picture"),
        ({}, [(n, "FP32", (1, 3, 4, 4)) for n in "xy"], "several inputs .*--image-input"),
        ({"input": "z"}, [("x", "FP32", (1, 3, 4, 4))], "input 'z' takes no picture"),
        ({"layout": "nhwc"}, [("x", "FP32", (1, 3, 4, 4))], "no picture"),
        ({"paths": ["notes.txt"]}, [("x", "FP32", (1, 3, 4, 4))], "cannot read .*notes.txt as a"),
        ({"paths": ["none.png"]}, [("x", "FP32", (1, 3, 4, 4))], "cannot read .*none.png as a"),
    ],
)
def test_what_cannot_be_is_refused(folder, params, inputs, message):
    paths = tuple(folder / name for name in params.get("paths", ["b.png"]))
    with pytest.raises(PayloadError, match=message):
        image_tensors(ImageParams(**(params | {"paths": paths})), inputs)


def test_a_folder_without_pictures_and_unknown_words_are_refused(tmp_path):
    with pytest.raises(PayloadError, match="no pictures in "):
        image_tensors(ImageParams((tmp_path,)), [("x", "FP32", (1, 3, 4, 4))])
    with pytest.raises(PayloadError, match="unknown scaling 'log'; there are: none, unit"):
        ImageParams((tmp_path,), "log")
    with pytest.raises(PayloadError, match="unknown layout 'chwn'; there are: auto"):
        ImageParams((tmp_path,), layout="chwn")
