"""Convolutional networks at full size: weights and work as their authors or torchvision count."""

from __future__ import annotations

import pytest

from tests.models.weightless import Weightless, weightless

# Weights as torchvision's model pages count them; GoogLeNet's and Tiny YOLO's are those of the
# authors' own files. A batch norm, of which we store one number a channel, folded into the
# convolution's bias, counts twice there (scale, shift), in Darknet's file four times (mean and
# variance, too).
WEIGHTS = {
    "alexnet": (61_100_840, 1),
    "densenet121": (7_978_856, 2),
    "densenet161": (28_681_000, 2),
    "efficientnet_b0": (5_288_548, 2),
    "googlenet": (6_998_552, 1),
    "inception_v3": (23_834_568, 2),
    "mnasnet": (4_383_312, 2),
    "mobilenet_v2": (3_504_872, 2),
    "resnet18": (11_689_512, 2),
    "resnet50": (25_557_032, 2),
    "resnet101": (44_549_160, 2),
    "resnet152": (60_192_808, 2),
    "resnext50": (25_028_904, 2),
    "shufflenet_v2": (2_278_604, 2),
    "squeezenet": (1_235_496, 1),
    "tiny_yolov2": (15_867_885, 4),
    "vgg16": (138_357_544, 1),
    "vgg19": (143_667_240, 1),
}

# Convolutions that have a bias of their own and no batch norm.
BIASED = ("squeeze_excite", "conv9")

# Multiply-accumulates in billions: torchvision's model pages; Darknet's page of YOLO (6.97 billion
# operations, two for each); Howard et al. 2017, table 13; Szegedy et al. 2015, table 1, which adds
# up to 1.53 with 34 million for the first convolution, whose 112 x 112 x 64 outputs need 118.
BILLIONS = {
    "alexnet": 0.71,
    "densenet121": 2.83,
    "densenet161": 7.73,
    "efficientnet_b0": 0.39,
    "googlenet": 1.62,
    "inception_v3": 5.71,
    "mnasnet": 0.31,
    "mobilenet_v2": 0.30,
    "resnet18": 1.81,
    "resnet50": 4.09,
    "resnet101": 7.80,
    "resnet152": 11.51,
    "resnext50": 4.23,
    "shufflenet_v2": 0.14,
    "squeezenet": 0.35,
    "ssd_mobilenet_v1": 1.2,
    "tiny_yolov2": 3.49,
    "vgg16": 15.47,
    "vgg19": 19.63,
}


@pytest.fixture(scope="module")
def full_size() -> dict[str, Weightless]:
    with pytest.MonkeyPatch.context() as patch:
        return {name: weightless(name, patch) for name in BILLIONS}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_the_published_ones(name: str, full_size: dict[str, Weightless]) -> None:
    model = full_size[name]
    published, per_norm_channel = WEIGHTS[name]
    folded = model.convolution_biases(without=BIASED) if per_norm_channel > 1 else 0
    assert model.parameters() + (per_norm_channel - 1) * folded == published


def test_ssd_mobilenet_has_6_8_million_weights(full_size: dict[str, Weightless]) -> None:
    # Howard et al. 2017, table 13. The heads (class, delta) have no batch norm.
    model = full_size["ssd_mobilenet_v1"]
    weights = model.parameters() + model.convolution_biases(without=("class", "delta"))
    assert weights == 6_819_839
    assert round(weights / 1e6, 1) == 6.8


@pytest.mark.parametrize("name", BILLIONS)
def test_work_is_the_published_one(name: str, full_size: dict[str, Weightless]) -> None:
    # Sees strides, paddings and map sizes, of which the weights do not tell.
    assert full_size[name].multiplications() / 1e9 == pytest.approx(BILLIONS[name], rel=0.04)
