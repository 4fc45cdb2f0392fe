"""A mixture-of-experts layer of a transformer, in place of its feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import Init, gemm
from surplus.models.registry import register

ROUTINGS = ("dense", "gather")

_LINEAR = Init(gain=0.7)
_EPSILON = 1e-5


@dataclass(frozen=True)
class MoeParams:
    """Parameters of a mixture-of-experts layer.

    Parameters
    ----------
    tokens, hidden : int
        Rows of the input and their width.
    experts, top : int
        Experts, and how many of them a token takes.
    expansion : int
        An expert's inner width as a multiple of `hidden`.
    routing : str
        'dense': every expert computes every token, and its gate, zero for most, weighs the
        result: static shapes, what exporters of traced models write. 'gather': an expert
        computes the tokens routed to it only; shapes depend on the data and may be empty.
        Both give the same numbers.
    seed : int
        Seed of the weights.
    """

    tokens: int = 64
    hidden: int = 512
    experts: int = 8
    top: int = 2
    expansion: int = 4
    routing: str = "dense"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("tokens", "hidden", "experts", "expansion"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 1 <= self.top <= self.experts:
            raise ValueError(f"top must be within 1..{self.experts}, got {self.top}")
        if self.routing not in ROUTINGS:
            raise ValueError(f"routing must be one of {', '.join(ROUTINGS)}, got {self.routing!r}")


def build_moe(params: MoeParams) -> onnx.ModelProto:
    """Build x + MoE(norm(x)) on x (tokens, hidden).

    References
    ----------
    Shazeer et al. 2017: eq. 1 (weighted sum of the experts), eq. 3 and 5 (softmax over the
    largest logits); without the noise of eq. 4, which is for training. With one expert a token,
    the gate is the softmax over all experts [Fedus et al. 2022, eq. 1 and 2]: over one logit it
    would be 1. No expert has a capacity, so that no token is dropped.
    """
    b = GraphBuilder("moe", params.seed)
    shape = (params.tokens, params.hidden)
    x = b.input("x", shape)
    normed = _norm(b, x, params.hidden)
    gates = _gates(b, normed, params)
    run_expert = _dense_expert if params.routing == "dense" else _routed_expert
    parts = []
    for expert in range(params.experts):
        with b.scope(f"expert{expert}"):
            gate = b.op("Gather", gates, b.ints(expert), axis=1, name="gate")
            parts.append(run_expert(b, normed, gate, params))
    mixed = b.op("Sum", *parts, name="mix")
    b.output(b.op("Add", x, mixed, name="residual"), "y", shape)
    return b.build(f"mixture-of-experts layer, {params.routing} routing, seeded weights")


def _norm(b: GraphBuilder, x: str, hidden: int) -> str:
    scale = b.initializer("norm.scale", np.ones(hidden, np.float32))
    shift = b.initializer("norm.shift", np.zeros(hidden, np.float32))
    return b.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=_EPSILON, name="norm")


def _gates(b: GraphBuilder, x: str, params: MoeParams) -> str:
    """Weights of the experts, (tokens, experts), zero where a token does not take one."""
    with b.scope("router"):
        scores = gemm(b, x, "logits", (params.hidden, params.experts), _LINEAR)
        if params.top == 1:
            scores = b.op("Softmax", scores, axis=-1, name="softmax")
        largest, chosen = b.op_multi(
            "TopK", scores, b.ints(params.top), outputs=2, axis=-1, name="top"
        )
        if params.top > 1:
            largest = b.op("Softmax", largest, axis=-1, name="softmax")
        none = b.constant(np.zeros((params.tokens, params.experts)))
        return b.op("ScatterElements", none, chosen, largest, axis=1, name="gates")


def _dense_expert(b: GraphBuilder, x: str, gate: str, params: MoeParams) -> str:
    return b.op("Mul", _expert(b, x, params), gate, name="weighted")


def _routed_expert(b: GraphBuilder, x: str, gate: str, params: MoeParams) -> str:
    """Compute the rows whose gate (tokens, 1) is not zero, and put them back among zeros."""
    flat = b.op("Squeeze", gate, b.ints(1))
    found = b.op("NonZero", flat, name="routed")
    rows = b.op("Squeeze", found, b.ints(0), name="rows")
    taken = b.op("Gather", x, rows, axis=0, name="taken")
    share = b.op("Gather", gate, rows, axis=0, name="share")
    weighted = b.op("Mul", _expert(b, taken, params), share, name="weighted")
    where = b.op("Unsqueeze", rows, b.ints(1), name="where")
    nothing = b.constant(np.zeros((params.tokens, params.hidden)))
    return b.op("ScatterND", nothing, where, weighted, name="placed")


def _expert(b: GraphBuilder, x: str, params: MoeParams) -> str:
    inner = params.expansion * params.hidden
    y = b.op("Relu", gemm(b, x, "expand", (params.hidden, inner)))
    return gemm(b, y, "contract", (inner, params.hidden), _LINEAR)


def moe_inputs(params: MoeParams, seed: int) -> dict[str, Array]:
    """Make normal tokens."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((params.tokens, params.hidden), dtype=np.float32)}


register(
    "moe",
    family="language",
    description="mixture-of-experts layer, 8 experts, 2 a token, 64 tokens; dense or gathered",
    params=MoeParams,
    build=build_moe,
    example_inputs=moe_inputs,
)
