from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from surplus.engine.dfg.batch_axis import batch_axes, propagate
from surplus.engine.dfg.batch_question import Rows
from surplus.engine.dfg.batch_split import shard_sizes, split_batch
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

BATCH = 6
X = (BATCH, 4, 10)
"""The input of most graphs here."""

Array = np.ndarray[Any, Any]
Nodes = list[onnx.NodeProto]

_RNG = np.random.default_rng(0)


def ints(*values: int) -> Array:
    return np.asarray(values, np.int64)


def floats(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Nodes,
    constants: dict[str, Array],
    shape: tuple[int | str, ...] = X,
    opset: int = 18,
    outputs: tuple[str, ...] = ("y",),
    kind: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """x to y; types of results are for ONNX Runtime to say."""
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info("x", kind, shape)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def read_in(folder: Path, model: onnx.ModelProto) -> Graph:
    path = folder / "rows.onnx"
    onnx.save(model, path)
    return read(path, folder / "cache")


def answers(file: Path, inputs: dict[str, Array]) -> list[Array]:
    session = open_session(str(file), width=1)
    return [from_value(v) for v in session.run({k: to_value(v) for k, v in inputs.items()})]


def check_shards(graph: Graph, inputs: dict[str, Array], shards: int) -> None:
    """The split graph answers as the whole one."""
    split = split_batch(graph, shards)
    assert split is not None
    assert sum(split.sizes) == BATCH
    file = graph.folder / f"split-{shards}.onnx"
    onnx.save(split.graph.model, file)
    whole, parts = answers(graph.model_path, inputs), answers(file, inputs)
    for left, right in zip(whole, parts, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


def node(op_type: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    outputs = attributes.pop("outputs", ["y"])
    return helper.make_node(op_type, ["x", *inputs], outputs, **attributes)


BY_ROW: dict[str, tuple[Nodes, dict[str, Array]]] = {
    "Relu": ([node("Relu")], {}),
    "Add of a row": ([node("Add", "c")], {"c": floats(4, 10)}),
    "Add of one for all": ([node("Add", "c")], {"c": floats(1, 4, 1)}),
    "Add of itself": ([node("Add", "x")], {}),
    "Clip": ([node("Clip", "low", "high")], {"low": np.float32(0), "high": np.float32(1)}),
    "Where": (
        [
            helper.make_node("Greater", ["x", "zero"], ["m"]),
            helper.make_node("Where", ["m", "x", "zero"], ["y"]),
        ],
        {"zero": np.float32(0)},
    ),
    "Cast": ([node("Cast", to=TensorProto.INT32)], {}),
    "MatMul of rows": ([node("MatMul", "c")], {"c": floats(10, 3)}),
    "MatMul with a vector": ([node("MatMul", "c")], {"c": floats(10)}),
    "MatMul from the left": ([helper.make_node("MatMul", ["c", "x"], ["y"])], {"c": floats(5, 4)}),
    "MatMul with itself": (
        [node("Transpose", perm=[0, 2, 1], outputs=["t"]), node("MatMul", "t")],
        {},
    ),
    "MatMul of columns": (
        [
            node("Transpose", perm=[1, 2, 0], outputs=["t"]),
            helper.make_node("MatMul", ["c", "t"], ["y"]),
        ],
        {"c": floats(4, 3, 10)},
    ),
    "Gemm": (
        [node("Flatten", outputs=["f"]), helper.make_node("Gemm", ["f", "w", "b"], ["y"])],
        {"w": floats(40, 3), "b": floats(3)},
    ),
    "Gemm transposed": (
        [
            node("Flatten", outputs=["f"]),
            helper.make_node("Transpose", ["f"], ["t"]),
            helper.make_node("Gemm", ["t", "w"], ["y"], transA=1),
        ],
        {"w": floats(40, 3)},
    ),
    "Einsum": ([node("Einsum", "c", equation="bij,jk->bik")], {"c": floats(10, 3)}),
    "Gather of places": ([node("Gather", "c", axis=1)], {"c": ints(2, 0)}),
    "Gather of a matrix": ([node("Gather", "c", axis=2)], {"c": ints(2, 0).reshape(1, 2)}),
    "Gather before it": (
        [
            node("Transpose", perm=[1, 0, 2], outputs=["t"]),
            helper.make_node("Gather", ["t", "c"], ["y"], axis=0),
        ],
        {"c": ints(2, 0, 1, 1).reshape(2, 2)},
    ),
    "GatherElements": (
        [
            node("Cast", to=TensorProto.INT64, outputs=["i"]),
            helper.make_node("Clip", ["i", "low", "high"], ["j"]),
            node("GatherElements", "j", axis=2),
        ],
        {"low": np.int64(0), "high": np.int64(3)},
    ),
    "ScatterElements": (
        [
            helper.make_node("TopK", ["x", "k"], ["v", "i"]),
            helper.make_node("ScatterElements", ["none", "i", "v"], ["y"], axis=2),
        ],
        {"k": ints(2), "none": np.zeros(X, np.float32)},
    ),
    "Reshape": ([node("Reshape", "s")], {"s": ints(0, -1)}),
    "Reshape that joins rows": ([node("Reshape", "s")], {"s": ints(-1, 10)}),
    "Reshape there and back": (
        [
            node("Reshape", "s", outputs=["f"]),
            helper.make_node("MatMul", ["f", "w"], ["g"]),
            helper.make_node("Reshape", ["g", "t"], ["y"]),
        ],
        {"s": ints(-1, 5), "w": floats(5, 2), "t": ints(BATCH, 2, 8)},
    ),
    "Unsqueeze": ([node("Unsqueeze", "a")], {"a": ints(0, 2)}),
    "Squeeze": (
        [
            node("Slice", "f", "t", "a", outputs=["s"]),
            helper.make_node("Squeeze", ["s", "a"], ["y"]),
        ],
        {"f": ints(1), "t": ints(2), "a": ints(1)},
    ),
    "Transpose": ([node("Transpose", perm=[2, 0, 1])], {}),
    "Concat": ([node("Concat", "x", axis=-1)], {}),
    "Split": ([node("Split", axis=1, num_outputs=2, outputs=["y", "z"])], {}),
    "Slice": ([node("Slice", "f", "t", "a")], {"f": ints(1), "t": ints(9), "a": ints(-1)}),
    "Pad": ([node("Pad", "p")], {"p": ints(0, 1, 0, 0, 0, 2)}),
    "Expand": (
        [node("Unsqueeze", "a", outputs=["u"]), helper.make_node("Expand", ["u", "s"], ["y"])],
        {"a": ints(1), "s": ints(BATCH, 3, 4, 10)},
    ),
    "Tile": ([node("Tile", "r")], {"r": ints(1, 2, 1)}),
    "Resize": (
        [node("Resize", "", "s", mode="nearest")],
        {"s": np.asarray([1, 1, 2], np.float32)},
    ),
    "ReduceSum": ([node("ReduceSum", "a", keepdims=0)], {"a": ints(1)}),
    "ReduceMax": ([node("ReduceMax", "a")], {"a": ints(1, -1)}),
    "ArgMax": ([node("ArgMax", axis=1, keepdims=0)], {}),
    "Softmax": ([node("Softmax", axis=-1)], {}),
    "CumSum": ([node("CumSum", "a")], {"a": np.int64(2)}),
    "TopK": ([node("TopK", "k", axis=1, outputs=["y", "z"])], {"k": ints(2)}),
    "LayerNormalization": (
        [node("LayerNormalization", "s", "b")],
        {"s": floats(10), "b": floats(10)},
    ),
    "InstanceNormalization": (
        [node("InstanceNormalization", "s", "b")],
        {"s": floats(4), "b": floats(4)},
    ),
    "BatchNormalization": (
        [node("BatchNormalization", "s", "b", "m", "v")],
        {"s": floats(4), "b": floats(4), "m": floats(4), "v": np.ones(4, np.float32)},
    ),
    "Conv": ([node("Conv", "w", "b", pads=[1, 1])], {"w": floats(5, 4, 3), "b": floats(5)}),
    "ConvTranspose": ([node("ConvTranspose", "w", strides=[2])], {"w": floats(4, 5, 3)}),
    "MaxPool": ([node("MaxPool", kernel_shape=[3])], {}),
    "AveragePool": ([node("AveragePool", kernel_shape=[3], strides=[2])], {}),
    "GlobalAveragePool": ([node("GlobalAveragePool")], {}),
    "OneHot": (
        [
            node("ArgMax", axis=1, keepdims=0, outputs=["i"]),
            helper.make_node("OneHot", ["i", "d", "v"], ["y"], axis=0),
        ],
        {"d": ints(4), "v": np.asarray([0, 1], np.float32)},
    ),
}


@pytest.mark.parametrize("shards", [2, 4])
@pytest.mark.parametrize("name", BY_ROW)
def test_shards_answer_as_the_whole_batch(tmp_path: Path, name: str, shards: int) -> None:
    nodes, constants = BY_ROW[name]
    outputs = ("y", "z") if "z" in nodes[-1].output else ("y",)
    graph = read_in(tmp_path, model_of(nodes, constants, outputs=outputs))
    axes = batch_axes(graph)
    assert axes is not None
    assert axes.batch == BATCH
    assert not axes.after
    check_shards(graph, {"x": floats(*X)}, shards)


MIXES: dict[str, tuple[Nodes, dict[str, Array]]] = {
    "sum over rows": ([node("ReduceSum", "a")], {"a": ints(0)}),
    "sum over all": ([node("ReduceSum")], {}),
    "mean of all axes": ([node("ReduceMean", "a")], {"a": ints(0, 1, 2)}),
    "softmax over rows": ([node("Softmax", axis=0)], {}),
    "best row": ([node("ArgMax", axis=0)], {}),
    "running sum over rows": ([node("CumSum", "a")], {"a": np.int64(0)}),
    "rows in another order": ([node("Gather", "c")], {"c": ints(*reversed(range(BATCH)))}),
    "some rows": ([node("Slice", "f", "t", "a")], {"f": ints(0), "t": ints(3), "a": ints(0)}),
    "every other row": (
        [node("Slice", "f", "t", "a", "s")],
        {"f": ints(0), "t": ints(6), "a": ints(0), "s": ints(2)},
    ),
    "rows twice": ([node("Concat", "x", axis=0)], {}),
    "tiled rows": ([node("Tile", "r")], {"r": ints(2, 1, 1)}),
    "padded rows": ([node("Pad", "p")], {"p": ints(1, 0, 0, 0, 0, 0)}),
    "rows apart": ([node("Split", axis=0, num_outputs=2, outputs=["y", "z"])], {}),
    "a constant of its own for each row": ([node("Add", "c")], {"c": floats(BATCH, 1, 1)}),
    "products of rows": (
        [
            node("Flatten", outputs=["f"]),
            helper.make_node("Transpose", ["f"], ["t"]),
            helper.make_node("MatMul", ["f", "t"], ["y"]),
        ],
        {},
    ),
    "rows meet columns": (
        [
            node("Reshape", "s", outputs=["f"]),
            helper.make_node("Transpose", ["f"], ["t"]),
            helper.make_node("Reshape", ["t", "s"], ["y"]),
        ],
        {"s": ints(BATCH, 40)},
    ),
    "where in the batch": ([node("NonZero")], {}),
    "a random draw": ([node("RandomNormalLike")], {}),
    "an unsure squeeze": ([node("Squeeze")], {}),
}


@pytest.mark.parametrize("name", MIXES)
def test_what_mixes_rows_needs_the_whole_batch(tmp_path: Path, name: str) -> None:
    nodes, constants = MIXES[name]
    outputs = ("y", "z") if "z" in nodes[-1].output else ("y",)
    graph = read_in(tmp_path, model_of(nodes, constants, outputs=outputs))
    axes = propagate(graph, BATCH, {graph.inputs[0]: Rows(0)})
    assert {graph.tensors[i].producer for i in graph.outputs} <= set(axes.after)


def test_the_part_that_can_be_split_is(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Softmax", ["r"], ["s"], axis=0),
        helper.make_node("Add", ["s", "r"], ["y"]),
    ]
    graph = read_in(tmp_path, model_of(nodes, {}, shape=(BATCH, 5), outputs=("y", "r")))
    x = floats(BATCH, 5)
    axes = propagate(graph, BATCH, {graph.inputs[0]: Rows(0)})
    assert [len(axes.by_row), len(axes.shared), len(axes.after)] == [1, 0, 2]
    split = split_batch(graph, 2)
    assert split is not None
    file = graph.folder / "split.onnx"
    onnx.save(split.graph.model, file)
    whole = answers(graph.model_path, {"x": x})
    for left, right in zip(whole, answers(file, {"x": x}), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)


def test_old_operator_sets_are_left_alone(tmp_path: Path) -> None:
    old = read_in(tmp_path, model_of([node("Relu")], {}, opset=11))
    assert batch_axes(old) is None


@pytest.mark.parametrize("shape", [("n", 4), (1, 1)])
def test_open_batches_and_single_rows_are_not_split(
    tmp_path: Path, shape: tuple[int | str, ...]
) -> None:
    graph = read_in(tmp_path, model_of([node("Relu")], {}, shape=shape))
    assert split_batch(graph, 2) is None


def test_more_shards_than_rows_are_refused(tmp_path: Path) -> None:
    graph = read_in(tmp_path, model_of([node("Relu")], {}, shape=(3, 1)))
    assert split_batch(graph, 4) is None
    assert split_batch(graph, 3) is not None
    with pytest.raises(ValueError, match="shards must be >= 2, got 1"):
        split_batch(graph, 1)


@pytest.mark.parametrize(
    ("batch", "shards", "sizes"), [(8, 2, (4, 4)), (7, 2, (4, 3)), (8, 3, (3, 3, 2))]
)
def test_sizes_differ_by_one_at_most(batch: int, shards: int, sizes: tuple[int, ...]) -> None:
    assert shard_sizes(batch, shards) == sizes


def _dense(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    constants[f"w{name}"] = floats(shape[-1], 5)
    return [helper.make_node("MatMul", [name, f"w{name}"], [f"{name}'"])]


def _biased(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    constants[f"b{name}"] = floats(shape[-1])
    return [helper.make_node("Add", [name, f"b{name}"], [f"{name}'"])]


def _normal(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    return [helper.make_node("Softmax", [name], [f"{name}'"], axis=-1)]


def _turned(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    order = [*range(1, len(shape)), 0]
    return [helper.make_node("Transpose", [name], [f"{name}'"], perm=order)]


def _flat(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    constants[f"s{name}"] = ints(-1, shape[-1])
    return [helper.make_node("Reshape", [name, f"s{name}"], [f"{name}'"])]


def _summed(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    constants[f"a{name}"] = ints(len(shape) // 2)
    return [helper.make_node("ReduceMean", [name, f"a{name}"], [f"{name}'"], keepdims=1)]


def _doubled(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    return [helper.make_node("Concat", [name, name], [f"{name}'"], axis=len(shape) - 1)]


def _squared(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    return [helper.make_node("Mul", [name, name], [f"{name}'"])]


def _taken(name: str, shape: tuple[int, ...], constants: dict[str, Array]) -> Nodes:
    constants[f"i{name}"] = ints(0, shape[0] - 1, 0)
    return [helper.make_node("Gather", [name, f"i{name}"], [f"{name}'"], axis=0)]


STEPS = [_dense, _biased, _normal, _turned, _flat, _summed, _doubled, _squared, _taken]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=7), st.sampled_from([2, 3]))
def test_random_models_answer_the_same_in_shards(steps: list[Any], shards: int) -> None:
    """Whatever is split, rows are computed alone only where that makes no difference."""
    nodes: Nodes = []
    constants: dict[str, Array] = {}
    name, shape = "x", X
    for step in steps:
        nodes += step(name, shape, constants)
        name += "'"
        shape = _shape_of(model_of(nodes, constants, outputs=(name,)), name)
    with TemporaryDirectory() as folder:
        graph = read_in(Path(folder), model_of(nodes, constants, outputs=(name,)))
        split = split_batch(graph, shards)
        if split is None:
            return
        x = floats(*X)
        file = graph.folder / "split.onnx"
        onnx.save(split.graph.model, file)
        (whole,), (parts,) = answers(graph.model_path, {"x": x}), answers(file, {"x": x})
        np.testing.assert_allclose(whole, parts, rtol=1e-4, atol=1e-4)


def _shape_of(model: onnx.ModelProto, name: str) -> tuple[int, ...]:
    inferred = onnx.shape_inference.infer_shapes(model)
    values = [*inferred.graph.value_info, *inferred.graph.output]
    value = next(v for v in values if v.name == name)
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
