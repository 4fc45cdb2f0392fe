"""Graphs of tiny operators: what dispatch, placement and segmentation are measured on.

No two nodes compute the same value, see `surplus.models.tiny_operators`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import Array, GraphBuilder
from surplus.models.registry import register
from surplus.models.tiny_operators import TinyOperators, check_kind, random_scalar


@dataclass(frozen=True)
class ChainParams:
    """Parameters of a chain.

    Parameters
    ----------
    length : int
        Number of nodes.
    size : int
        Elements of every tensor, (1, size).
    kind : str
        'elementwise' (Add, Mul, Neg, Sub, Div, Neg in turn) or 'matmul' (a weight of
        size x size each: with many nodes, 32 to 64 keeps the file small).
    seed : int
        Seed of the constants.
    """

    length: int = 100
    size: int = 256
    kind: str = "elementwise"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check_positive(length=self.length, size=self.size)
        check_kind(self.kind)


@dataclass(frozen=True)
class ForkJoinParams:
    """Parameters of a fork-join graph: 1 -> `branches` of `depth` nodes -> 1.

    Parameters
    ----------
    branches, depth : int
        Number of branches and nodes in each.
    size, kind, seed
        As in `ChainParams`.
    """

    branches: int = 80
    depth: int = 6
    size: int = 256
    kind: str = "elementwise"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check_positive(branches=self.branches, depth=self.depth, size=self.size)
        check_kind(self.kind)


@dataclass(frozen=True)
class DiamondsParams:
    """Parameters of a row of diamonds: fork, `width` branches of one node, join, and again.

    Parameters
    ----------
    count, width : int
        Number of diamonds and branches in each; ``count * (width + 1)`` nodes.
    size, kind, seed
        As in `ChainParams`.
    """

    count: int = 20
    width: int = 4
    size: int = 256
    kind: str = "elementwise"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check_positive(count=self.count, width=self.width, size=self.size)
        check_kind(self.kind)


@dataclass(frozen=True)
class RandomDagParams:
    """Parameters of a random graph.

    Parameters
    ----------
    nodes : int
        Number of nodes before the one that joins all ends.
    width : int
        A node reads one to three of the `width` nodes before it: about as many can run at once.
    size, seed
        As in `ChainParams`; the seed draws the edges, too.
    """

    nodes: int = 500
    width: int = 20
    size: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check_positive(nodes=self.nodes, width=self.width, size=self.size)


def build_chain(params: ChainParams) -> onnx.ModelProto:
    """Build a chain of tiny operators."""
    b, x, tiny = _start("chain", params)
    for position in range(params.length):
        x = tiny.add(x, position)
    return _finish(b, x, params.size)


def build_fork_join(params: ForkJoinParams) -> onnx.ModelProto:
    """Build 1 -> branches -> 1: Tanh, the branches, Concat (as detectors join their classes)."""
    b, x, tiny = _start("fork_join", params)
    root = b.op("Tanh", x, name="fork")
    ends = []
    for branch in range(params.branches):
        value = root
        with b.scope(f"branch{branch}"):
            for position in range(params.depth):
                value = tiny.add(value, position)
        ends.append(value)
    joined = b.op("Concat", *ends, name="join", axis=0)
    return _finish(b, joined, params.size, rows=params.branches)


def build_diamonds(params: DiamondsParams) -> onnx.ModelProto:
    """Build a row of diamonds, each joined by the mean of its branches."""
    b, x, tiny = _start("diamonds", params)
    for diamond in range(params.count):
        with b.scope(f"diamond{diamond}"):
            sides = [tiny.add(x, 0) for _ in range(params.width)]
            x = b.op("Mean", *sides, name="join")
    return _finish(b, x, params.size)


def build_random_dag(params: RandomDagParams) -> onnx.ModelProto:
    """Build a random graph whose ends are joined by a Sum."""
    b = GraphBuilder("random_dag", params.seed)
    rng = np.random.default_rng([params.seed, 1])
    values = [b.input("x", (1, params.size))]
    ends: dict[str, None] = {}
    for _ in range(params.nodes):
        window = values[-params.width :]
        picks = rng.choice(len(window), min(len(window), int(rng.integers(1, 4))), replace=False)
        reads = [window[i] for i in sorted(picks)]
        # All three stay within the range of their inputs, however deep the graph.
        op_type = ("Mean", "Max", "Min")[rng.integers(3)]
        values.append(b.op(op_type, *reads, random_scalar(b, rng)))
        for value in reads:
            ends.pop(value, None)
        ends[values[-1]] = None
    return _finish(b, b.op("Sum", *ends, name="join"), params.size)


def synthetic_inputs(
    params: ChainParams | ForkJoinParams | DiamondsParams | RandomDagParams, seed: int
) -> dict[str, Array]:
    """Make normal noise of shape (1, size)."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((1, params.size), dtype=np.float32)}


def _start(
    name: str, params: ChainParams | ForkJoinParams | DiamondsParams
) -> tuple[GraphBuilder, str, TinyOperators]:
    b = GraphBuilder(name, params.seed)
    tiny = TinyOperators(b, params.kind, params.size, params.seed)
    return b, b.input("x", (1, params.size)), tiny


def _finish(b: GraphBuilder, value: str, size: int, rows: int = 1) -> onnx.ModelProto:
    b.output(value, "y", (rows, size))
    return b.build("synthetic graph of tiny operators")


def _check_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


register(
    "chain",
    family="synthetic",
    description="a chain of tiny operators: what one dispatch costs",
    params=ChainParams,
    build=build_chain,
    example_inputs=synthetic_inputs,
)
register(
    "fork_join",
    family="synthetic",
    description="1 -> 80 branches of six tiny operators -> 1: all width, no work",
    params=ForkJoinParams,
    build=build_fork_join,
    example_inputs=synthetic_inputs,
)
register(
    "diamonds",
    family="synthetic",
    description="a row of diamonds: short forks with a join after each",
    params=DiamondsParams,
    build=build_diamonds,
    example_inputs=synthetic_inputs,
)
register(
    "random_dag",
    family="synthetic",
    description="a random graph of tiny operators with about `width` runnable at once",
    params=RandomDagParams,
    build=build_random_dag,
    example_inputs=synthetic_inputs,
)
