"""The detectors: realistic detections, empty and full results, ORT's answers cross-checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from surplus import models
from surplus.models.images import street

CAPS = {
    "faster_rcnn": 100,
    "mask_rcnn": 100,
    "ssd": 200,
    "ssd_mobilenet_v1": 100,
    "ssd_per_class": 200,
}


@pytest.fixture(scope="module", params=CAPS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def in_street(built: Callable, run: Callable) -> Callable[[str], dict[str, np.ndarray]]:
    """What a detector finds in its example, computed once."""
    return lru_cache(lambda name: run(built(name), models.example_inputs(name)))


def test_finds_20_to_100_objects_in_the_street(name: str, in_street: Callable) -> None:
    outputs = in_street(name)
    boxes, scores = outputs["boxes"].reshape(-1, 4), outputs["scores"].ravel()
    labels = outputs["labels"].ravel()
    assert 20 <= len(scores) <= 100
    assert len(boxes) == len(labels) == len(scores)
    assert (np.diff(scores) <= 0).all()
    assert (scores > 0.05).all()
    # Several classes, so that several branches have work.
    assert len(set(labels)) >= 3
    assert labels.min() >= 1
    assert labels.max() <= models.info(name).parameters["classes"]
    assert (boxes[:, :2] <= boxes[:, 2:]).all()


def test_finds_nothing_in_a_zero_image(name: str, built: Callable, run: Callable) -> None:
    image = models.example_inputs(name)["image"]
    outputs = run(built(name), {"image": np.zeros_like(image)})
    assert outputs["boxes"].size == outputs["labels"].size == outputs["scores"].size == 0
    if name == "mask_rcnn":
        assert outputs["masks"].shape == (0, 1, 28, 28)


def test_noise_reaches_the_cap(name: str, built: Callable, run: Callable) -> None:
    image = models.example_inputs(name)["image"]
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(image.shape, dtype=np.float32) * image.std()
    assert run(built(name), {"image": noise})["scores"].size == CAPS[name]


def test_both_ssds_find_the_same(in_street: Callable) -> None:
    # Same weights, two ways to suppress: an oracle for the branches.
    whole, branched = in_street("ssd"), in_street("ssd_per_class")
    for key in whole:
        np.testing.assert_allclose(whole[key], branched[key], rtol=1e-4, atol=1e-5)


def test_mask_rcnn_finds_what_faster_rcnn_finds(in_street: Callable) -> None:
    faster, mask = in_street("faster_rcnn"), in_street("mask_rcnn")
    for key in faster:
        np.testing.assert_allclose(faster[key], mask[key], rtol=1e-4, atol=1e-5)
    assert mask["masks"].shape == (len(mask["scores"]), 1, 28, 28)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("faster_rcnn", {"image_size": 300}, "multiple of 32 and at least 64, got 300"),
        ("mask_rcnn", {"proposals": 0}, "must be at least 1"),
        ("ssd", {"image_size": 256}, "at least 257, got 256"),
        ("ssd_mobilenet_v1", {"image_size": 31}, "image_size must be >= 32 .*image_size=31"),
        ("ssd_per_class", {"classes": 0}, "classes must be at least 1, got 0"),
    ],
)
def test_sizes_out_of_range_are_named(name: str, params: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build(name, **params)


@pytest.mark.parametrize(("name", "image_size"), [("ssd", 257), ("ssd_mobilenet_v1", 32)])
def test_smallest_ssd_runs(name: str, image_size: int, run: Callable) -> None:
    params = {"image_size": image_size, "classes": 3}
    outputs = run(models.build(name, **params), models.example_inputs(name, **params))
    assert outputs["boxes"].shape == (1, outputs["scores"].size, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ssd", "ssd_per_class"])
def test_ssd_1200_finds_20_to_100_objects(name: str, run: Callable) -> None:
    inputs = models.example_inputs(name, image_size=1200)
    outputs = run(models.build(name, image_size=1200), inputs)
    assert 20 <= outputs["scores"].size <= 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["faster_rcnn", "mask_rcnn"])
def test_rcnn_640_finds_20_to_100_objects(name: str, run: Callable) -> None:
    inputs = models.example_inputs(name, image_size=640)
    outputs = run(models.build(name, image_size=640), inputs)
    assert 20 <= outputs["scores"].size <= 100


def test_street_scales_to_every_size() -> None:
    small, large = street(100, 100).astype(float), street(300, 300).astype(float)
    # Middle pixels of 3 x 3 blocks sit where the small picture's pixels do.
    assert np.abs(large[1::3, 1::3] - small).mean() < 1.0
    assert street(64, 96).shape == (64, 96, 3)
