"""Random wide graphs: a fork, branches of tiny operators of skewed lengths, and a join."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.registry import register
from surplus.models.tiny_operators import TinyOperators, check_kind

JOINS = ("concat", "sum", "tree")


@dataclass(frozen=True)
class RandomWideParams:
    """Parameters of a random wide graph; what a seed draws is the same each time.

    Parameters
    ----------
    width : int
        Branches between the fork and the join.
    depth : int
        Operators of a branch on average: ``width * depth`` in all.
    grain : int
        Work of an operator: elements of every tensor, (1, grain); for 'matmul' also the side
        of the square weight.
    kind : str
        'elementwise' or 'matmul', see `surplus.models.tiny_operators`.
    skew : float
        Zipf exponent of the branch lengths: the branch of rank r has a length proportional to
        ``r ** -skew``. 0 makes them equal, 1 gives the longest a large share of the work. The
        seed draws which branch has which rank.
    cross : float
        Probability, 0..1, that an operator reads a second branch, too, and takes the mean of
        both values instead. An edge leads from one position to the next, so that the graph has
        no cycle, and stays as deep as its longest branch.
    join : str
        'concat' (along the rows), 'sum' (one operator), 'tree' (additions two by two).
    seed : int
        Seed of lengths, edges and constants.
    """

    width: int = 80
    depth: int = 6
    grain: int = 256
    kind: str = "elementwise"
    skew: float = 0.5
    cross: float = 0.0
    join: str = "concat"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("width", "depth", "grain"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        # Written so that NaN fails.
        if not 0.0 <= self.skew <= 10.0:
            raise ValueError(f"skew must be within 0..10, got {self.skew}")
        if not 0.0 <= self.cross <= 1.0:
            raise ValueError(f"cross must be within 0..1, got {self.cross}")
        if self.join not in JOINS:
            raise ValueError(f"join must be one of {', '.join(JOINS)}, got {self.join!r}")
        check_kind(self.kind)


def branch_lengths(params: RandomWideParams) -> list[int]:
    """Operators of each branch: at least 1 each, ``width * depth`` in all."""
    shares = np.arange(1, params.width + 1, dtype=np.float64) ** -params.skew
    spare = params.width * (params.depth - 1)
    ends = np.rint(np.cumsum(shares) / shares.sum() * spare).astype(np.int64)
    lengths = 1 + np.diff(ends, prepend=0)
    shuffled = np.random.default_rng([params.seed, 2]).permutation(lengths)
    return [int(length) for length in shuffled]


def build_random_wide(params: RandomWideParams) -> onnx.ModelProto:
    """Build x (1, grain) -> Tanh -> branches -> join; y has a row per branch if concatenated."""
    b = GraphBuilder("random_wide", params.seed)
    root = b.op("Tanh", b.input("x", (1, params.grain)), name="fork")
    y = _join(b, _branches(b, root, params), params.join)
    b.output(y, "y", (params.width if params.join == "concat" else 1, params.grain))
    return b.build("random wide graph of tiny operators")


def _branches(b: GraphBuilder, root: str, params: RandomWideParams) -> list[str]:
    """Add all branches, position by position, so that each edge leads forward; their ends."""
    tiny = TinyOperators(b, params.kind, params.grain, params.seed)
    rng = np.random.default_rng([params.seed, 3])
    lengths = branch_lengths(params)
    ends = [root] * params.width
    for position in range(max(lengths)):
        before = list(ends)
        for branch, length in enumerate(lengths):
            if position >= length:
                continue
            with b.scope(f"branch{branch}"):
                other = _other(rng, before, branch, params.cross) if position else None
                if other is None:
                    ends[branch] = tiny.add(before[branch], position)
                else:
                    ends[branch] = b.op("Mean", before[branch], other, name="cross")
    return ends


def _other(
    rng: np.random.Generator, ends: list[str], branch: int, probability: float
) -> str | None:
    """Draw whether to read another branch's end, and which."""
    if len(ends) < 2 or rng.random() >= probability:
        return None
    drawn = int(rng.integers(len(ends) - 1))
    return ends[drawn + (drawn >= branch)]


def _join(b: GraphBuilder, values: list[str], kind: str) -> str:
    if kind == "concat":
        return b.op("Concat", *values, axis=0, name="join")
    if kind == "sum":
        return b.op("Sum", *values, name="join")
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        odd = values[len(values) - len(values) % 2 :]
        values = [b.op("Add", left, right, name="join") for left, right in pairs] + odd
    return values[0]


def random_wide_inputs(params: RandomWideParams, seed: int) -> dict[str, Array]:
    """Make normal noise of shape (1, grain)."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((1, params.grain), dtype=np.float32)}


register(
    "random_wide",
    family="synthetic",
    description="80 branches of 480 tiny operators: width, grain, skew, cross edges, join",
    params=RandomWideParams,
    build=build_random_wide,
    example_inputs=random_wide_inputs,
)
