"""LeNet-5 with ReLU and max pooling, on 28 x 28 digits [LeCun et al. 1998, section II.B]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import Conv, conv_relu, gemm, max_pool
from surplus.models.registry import register


@dataclass(frozen=True)
class LenetParams:
    """Parameters of LeNet; there is but the seed of its weights."""

    seed: int = 0


def build_lenet(params: LenetParams) -> onnx.ModelProto:
    """Build LeNet: image (batch, 1, 28, 28) to logits (batch, 10)."""
    b = GraphBuilder("lenet", params.seed)
    x = b.input("image", ("batch", 1, 28, 28))
    x = max_pool(b, conv_relu(b, x, "conv1", Conv(1, 6, 5)), 2, 2)
    x = max_pool(b, conv_relu(b, x, "conv2", Conv(6, 16, 5, pad=0)), 2, 2)
    x = b.op("Flatten", x, axis=1)
    x = b.op("Relu", gemm(b, x, "fc1", (400, 120)))
    x = b.op("Relu", gemm(b, x, "fc2", (120, 84)))
    b.output(gemm(b, x, "fc3", (84, 10)), "logits", ("batch", 10))
    return b.build("LeNet-5, seeded weights")


def lenet_inputs(params: LenetParams, seed: int) -> dict[str, Array]:
    """Make one image of uniform noise."""
    rng = np.random.default_rng(seed)
    return {"image": rng.random((1, 1, 28, 28), dtype=np.float32)}


register(
    "lenet",
    family="classifier",
    description="LeNet-5 on 28 x 28 digits: 12 small operators in a chain",
    params=LenetParams,
    build=build_lenet,
    example_inputs=lenet_inputs,
)
