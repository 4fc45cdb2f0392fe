"""Many predictions from the same features: a shared bottom, or gated experts, and a head each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import ZERO_MEAN, Init, gemm, he_normal
from surplus.models.perceptron import perceptron
from surplus.models.registry import register


@dataclass(frozen=True)
class MultiTaskParams:
    """Parameters of a multi-task model.

    Parameters
    ----------
    tasks : int
        Heads, each a network and an output of its own.
    features, width : int
        Input features, and width of the bottom's and the heads' layers, even.
    head_layers : int
        Layers of `width` in each head, before one of half that width and the output's.
    experts : int
        0 for one shared bottom; else that many bottoms, mixed for each task by a gate of its own.
    batch : int
        Samples per query.
    seed : int
        Seed of the weights.
    """

    tasks: int = 16
    features: int = 256
    width: int = 128
    head_layers: int = 3
    experts: int = 0
    batch: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("tasks", "features", "head_layers", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.width < 2 or self.width % 2:
            raise ValueError(f"width must be a multiple of 2, got {self.width}")
        if self.experts < 0:
            raise ValueError(f"experts must be at least 0, got {self.experts}")


def build_multi_task(params: MultiTaskParams) -> onnx.ModelProto:
    """Build the model: x (batch, features) to task0, task1, ... (batch, 1), probabilities.

    References
    ----------
    Ma et al. 2018: the shared bottom is section 4.1 (eq. 1), gated experts are section 4.3
    (eq. 6 and 7: each task's gate is a softmax of a linear map of the input).
    """
    b = GraphBuilder("multi_task", params.seed)
    x = b.input("x", (params.batch, params.features))
    shared = _experts(b, x, params) if params.experts else _bottom(b, x, "bottom", params)
    for task in range(params.tasks):
        with b.scope(f"task{task}"):
            features = _mix(b, x, shared, params) if params.experts else shared
            b.output(_head(b, features, params), f"task{task}", (params.batch, 1))
    return b.build("multi-task network, seeded weights")


def _bottom(b: GraphBuilder, x: str, name: str, params: MultiTaskParams) -> str:
    with b.scope(name):
        return perceptron(b, x, (params.features, params.width, params.width))


def _experts(b: GraphBuilder, x: str, params: MultiTaskParams) -> str:
    """Add the experts, giving (batch, experts, width)."""
    found = [_bottom(b, x, f"expert{i}", params) for i in range(params.experts)]
    rows = [b.op("Unsqueeze", value, b.ints(1), name="expert_row") for value in found]
    return b.op("Concat", *rows, axis=1, name="experts")


def _mix(b: GraphBuilder, x: str, experts: str, params: MultiTaskParams) -> str:
    """Weigh the experts by the task's gate, giving (batch, width)."""
    logits = gemm(b, x, "gate", (params.features, params.experts), Init(gain=0.7))
    shares = b.op("Softmax", logits, axis=-1, name="shares")
    row = b.op("Unsqueeze", shares, b.ints(1))
    return b.op("Squeeze", b.op("MatMul", row, experts, name="mix"), b.ints(1), name="mixed")


def _head(b: GraphBuilder, x: str, params: MultiTaskParams) -> str:
    half = params.width // 2
    x = perceptron(b, x, [params.width] * (params.head_layers + 1) + [half])
    # A bias from the seed, so that the tasks' base rates differ.
    bias = he_normal(b.weight_rng("rate"), (1, 2))[0, :1]
    return b.op("Sigmoid", gemm(b, x, "logit", (half, 1), ZERO_MEAN, bias), name="probability")


def multi_task_inputs(params: MultiTaskParams, seed: int) -> dict[str, Array]:
    """Make normal features."""
    rng = np.random.default_rng(seed)
    shape = (params.batch, params.features)
    return {"x": rng.standard_normal(shape, dtype=np.float32)}


register(
    "multi_task",
    family="recommender",
    description="a shared bottom or gated experts, 16 heads of five layers: 164 operators, 16 wide",
    params=MultiTaskParams,
    build=build_multi_task,
    example_inputs=multi_task_inputs,
)
