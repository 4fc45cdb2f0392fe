"""What the classifiers of square images share: parameters, input and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.images import normalized_input, street


@dataclass(frozen=True)
class ClassifierParams:
    """Parameters of a classifier of square images.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Number of logits.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self)


class ImageSize(Protocol):
    """Any parameters with an image size."""

    @property
    def image_size(self) -> int:
        """Height and width of the image in pixels."""


class ClassifierSizes(ImageSize, Protocol):
    """Any parameters with an image size and a number of classes."""

    @property
    def classes(self) -> int:
        """Number of logits."""


def check_sizes(params: ClassifierSizes, smallest_image: int = 32) -> None:
    """Check the image's size and the number of classes.

    Raises
    ------
    ValueError
        If the image is smaller than the network can halve it, or there is no class.
    """
    if params.image_size < smallest_image or params.classes < 1:
        bounds = f"image_size must be >= {smallest_image} and classes >= 1"
        raise ValueError(f"{bounds}, got {params}")


def image_input(b: GraphBuilder, params: ImageSize) -> str:
    """Declare the input: normalised RGB (batch, 3, size, size)."""
    return b.input("image", ("batch", 3, params.image_size, params.image_size))


def finish(
    b: GraphBuilder, logits: str, params: ClassifierSizes, description: str
) -> onnx.ModelProto:
    """Declare the output (batch, classes) and close the graph."""
    b.output(logits, "logits", ("batch", params.classes))
    return b.build(description)


def street_input(params: ImageSize, seed: int) -> dict[str, Array]:
    """Make the street scene of that seed."""
    return {"image": normalized_input(street(params.image_size, params.image_size, seed))}
