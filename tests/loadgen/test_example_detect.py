import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

_FILE = Path(__file__).parents[2] / "examples" / "detect.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("detect", _FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_input_is_bgr_minus_the_mean(example):
    image = Image.new("RGB", (64, 32), (10, 20, 30))
    array = example.to_input(image, (32, 96))
    assert array.shape == (3, 96, 32)
    assert array.dtype == np.float32
    np.testing.assert_allclose(array[:, 0, 0], [30 - 102.9801, 20 - 115.9465, 10 - 122.7717])


@pytest.mark.parametrize(
    ("shape", "size"),
    [([3, 320, 640], (640, 320)), ([3, -1, -1], (1056, 800)), ([3, -1, 64], (64, 800))],
)
def test_open_sides_become_multiples_of_32(example, shape, size):
    assert example.input_size(shape, Image.new("RGB", (660, 500))) == size


def test_another_input_is_refused(example):
    with pytest.raises(SystemExit, match=r"\[1, 28, 28\], not 3 x H x W"):
        example.input_size([1, 28, 28], Image.new("RGB", (9, 9)))


def test_outputs_are_found_by_name_else_by_order(example):
    def names(*outputs):
        return example.output_names(
            SimpleNamespace(outputs=[SimpleNamespace(name=n) for n in outputs])
        )

    assert names("scores", "boxes", "labels") == ["boxes", "labels", "scores"]
    assert names("6379", "6381", "6383", "masks") == ["6379", "6381", "6383"]
    with pytest.raises(SystemExit, match="not boxes, labels, scores"):
        names("y")


def test_only_boxes_above_the_threshold_are_drawn_to_scale(example):
    image = Image.new("RGB", (100, 100))
    boxes = np.array([[10, 10, 20, 20], [30, 30, 40, 40]], np.float32)
    found = [boxes, np.array([1, 1]), np.array([0.9, 0.2])]
    assert example.draw(image, found, 0.5, np.full(4, 2.0)) == 1
    assert image.getpixel((20, 40)) != (0, 0, 0)
    assert image.crop((45, 45, 100, 100)).getbbox() is None
