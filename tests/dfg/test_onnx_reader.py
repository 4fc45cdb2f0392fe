import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surplus.engine.dfg import optimise as optimise_module
from surplus.engine.dfg.graph import Graph, ValueKind
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ModelError
from surplus.engine.native import open_session
from surplus.engine.values import to_value
from tests.dfg.onnx_parts import value, weight


def tensor(graph: Graph, name: str):
    return graph.tensors[graph.tensor_index[name]]


def names(graph: Graph, indices):
    return [graph.tensors[i].name for i in indices]


def consistent(graph: Graph) -> None:
    """Every index agrees with its counterpart, and tasks are in topological order."""
    assert len({t.name for t in graph.tasks}) == len(graph.tasks)
    for index, task in enumerate(graph.tasks):
        for i in task.inputs:
            assert index in graph.tensors[i].consumers
            assert graph.tensors[i].producer < index
        for i in task.outputs:
            assert graph.tensors[i].producer == index
            assert graph.tensors[i].elem_type


def test_rich_model(rich: Path, tmp_path: Path) -> None:
    graph = read(rich, tmp_path / "cache")
    consistent(graph)
    assert [t.op_type for t in graph.tasks] == [
        "MatMul",
        "If",
        "com.microsoft.Gelu",
        "SequenceConstruct",
        "SequenceAt",
    ]
    branch = graph.tasks[1]
    assert branch.is_control_flow
    assert names(graph, branch.inputs) == ["flag", "c"]
    assert branch.initializers == ("outer",)
    assert branch.weight_bytes == 4 * 32 + 4 * 32 * 32
    assert tensor(graph, "s").kind is ValueKind.SEQUENCE
    assert tensor(graph, "z").elem_type == TensorProto.FLOAT
    assert names(graph, graph.inputs) == ["x", "flag", "d"]
    assert names(graph, graph.outputs) == ["q", "d", "x", "w", "c"]
    assert graph.default_inputs == ("d",)
    assert graph.constant_outputs == ("w",)
    assert graph.predecessors[3] == (2,)
    assert graph.successors[0] == (1,)


def test_inputs_with_a_default_are_fed_to_the_runnable_model(rich: Path, tmp_path: Path) -> None:
    graph = read(rich, tmp_path / "cache")
    assert open_session(str(graph.model_path)).input_names == ["x", "flag", "d"]
    assert "d" in graph.initializers


def test_large_weights_lie_outside_the_model_and_small_ones_within(
    rich: Path, tmp_path: Path
) -> None:
    graph = read(rich, tmp_path / "cache")
    places = {n: t.data_location for n, t in graph.initializers.items()}
    assert places["w"] == TensorProto.EXTERNAL
    assert places["zero"] == TensorProto.DEFAULT
    assert graph.model_path.parent == graph.folder


def test_optimised_model_answers_as_the_source_does(rich: Path, tmp_path: Path) -> None:
    graph = read(rich, tmp_path / "cache")
    feed = {
        "x": to_value(np.ones((3, 32), np.float32), TensorProto.FLOAT),
        "flag": to_value(np.array(True), TensorProto.BOOL),
    }
    first, second = (
        open_session(str(path)).run(feed, ["c"])[0].to_numpy()
        for path in (rich, graph.folder / "model.onnx")
    )
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_second_reading_uses_the_cache(rich: Path, tmp_path: Path, monkeypatch) -> None:
    first = read(rich, tmp_path / "cache")
    monkeypatch.setattr("engine.dfg.onnx_reader.optimise", None)
    second = read(rich, tmp_path / "cache")
    assert second.folder == first.folder
    assert second.tensors == first.tensors
    assert second.source_hash == first.source_hash


def test_damaged_cache_is_made_again(rich: Path, tmp_path: Path) -> None:
    first = read(rich, tmp_path / "cache")
    (first.folder / "model.onnx").write_bytes(b"\xff" * 40)
    assert len(read(rich, tmp_path / "cache").tasks) == len(first.tasks)
    assert {p.name for p in (tmp_path / "cache").iterdir()} == {first.folder.name, "hashes"}


@pytest.mark.skipif(not shutil.which("true"), reason="POSIX only")
def test_unwritable_cache_costs_the_cache_only(rich: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    graph = read(rich, tmp_path / "file" / "cache")
    assert graph.model_path.is_file()
    assert tmp_path not in graph.folder.parents


def test_external_data_is_part_of_the_hash(save, tmp_path: Path) -> None:
    path = save(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", [1, 64])],
        [value("y")],
        [weight("w", 64, 64)],
    )
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    first = read(path, tmp_path / "cache")
    assert first.tasks[0].weight_bytes == 4 * 64 * 64
    data = bytearray((tmp_path / "data.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "data.bin").write_bytes(data)
    assert read(path, tmp_path / "cache").source_hash != first.source_hash
    (tmp_path / "data.bin").unlink()
    with pytest.raises(ModelError, match=r"data\.bin' is missing"):
        read(path, tmp_path / "cache")


def test_external_data_outside_the_folder_is_refused(save, tmp_path: Path) -> None:
    path = save([], [value("x", [1])], [value("x", [1])], [weight("w", 4)])
    model = onnx.load(path)
    held = model.graph.initializer[0]
    held.ClearField("raw_data")
    held.data_location = TensorProto.EXTERNAL
    held.external_data.add(key="location", value="../secret")
    onnx.save(model, path)
    with pytest.raises(ModelError, match="not within its folder"):
        read(path, tmp_path / "cache")


def test_folded_to_nothing(save, tmp_path: Path) -> None:
    path = save(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [],
        [value("y", [4])],
        [weight("a", 4), weight("b", 4)],
    )
    graph = read(path, tmp_path / "cache")
    assert graph.tasks == ()
    assert graph.constant_outputs == ("y",)
    assert names(graph, graph.outputs) == ["y"]


def test_constants_of_old_ir_versions_are_no_inputs(save, tmp_path: Path) -> None:
    path = save(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", [1, 4]), value("w", [4, 4])],
        [value("y", [1, 4])],
        [weight("w", 4, 4)],
        ir_version=3,
        opset=8,
    )
    graph = read(path, tmp_path / "cache")
    assert names(graph, graph.inputs) == ["x"]
    assert graph.tasks[0].initializers == ("w",)
    assert graph.default_inputs == ()


def test_an_input_whose_constant_was_shared_does_not_stay_behind(save, tmp_path: Path) -> None:
    shapes = [numpy_helper.from_array(np.array([4]), name) for name in ("s", "t")]
    path = save(
        [
            helper.make_node("ConstantOfShape", ["s"], ["a"]),
            helper.make_node("ConstantOfShape", ["t"], ["b"]),
            helper.make_node("Sum", ["x", "a", "b"], ["y"]),
        ],
        [value("x", [4]), *(value(name, [1], TensorProto.INT64) for name in ("s", "t"))],
        [value("y", [4])],
        shapes,
        ir_version=3,
        opset=9,
    )
    graph = read(path, tmp_path / "cache")
    assert names(graph, graph.inputs) == ["x"]


def test_an_omitted_item_of_an_input_list_is_refused(save, tmp_path: Path) -> None:
    nodes = [helper.make_node("Mean", ["x", "", "x"], ["y"], name="average")]
    path = save(nodes, [value("x", [4])], [value("y", [4])])
    with pytest.raises(ModelError, match=r"model\.onnx: node 'average'"):
        read(path, tmp_path / "cache")


def test_local_functions_are_inlined(save, tmp_path: Path) -> None:
    double = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    path = save(
        [helper.make_node("Twice", ["x"], ["y"], domain="own")],
        [value("x", ["n"])],
        [value("y", ["n"])],
        domains=["own"],
        functions=[double],
    )
    graph = read(path, tmp_path / "cache")
    consistent(graph)
    assert [t.op_type for t in graph.tasks] == ["Add"]
    assert {i.domain for i in graph.model.opset_import} == {""}


def test_shape_readers_carry_no_bytes(save, tmp_path: Path) -> None:
    path = save(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("Relu", ["x"], ["kept"]),
            helper.make_node("Shape", ["r"], ["shape"]),
            helper.make_node("Size", ["r"], ["size"]),
        ],
        [value("x", ["n", 4])],
        [value("shape", [2], 7), value("size", [], 7), value("kept", ["n", 4])],
    )
    graph = read(path, tmp_path / "cache")
    assert [t.name for t in graph.tensors if t.metadata_only] in (["r"], ["x"])
    assert not tensor(graph, "kept").metadata_only


def test_omitted_optional_inputs_and_outputs(save, tmp_path: Path) -> None:
    path = save(
        [
            helper.make_node("Clip", ["x", "", "high"], ["c"]),
            helper.make_node("GRU", ["c", "w", "r"], ["", "last"], hidden_size=3),
        ],
        [value("x", [5, 1, 4]), value("high", [])],
        [value("last", [1, 1, 3])],
        [weight("w", 1, 9, 4), weight("r", 1, 9, 3)],
    )
    graph = read(path, tmp_path / "cache")
    consistent(graph)
    assert names(graph, graph.tasks[0].inputs) == ["x", "high"]
    assert names(graph, graph.tasks[1].outputs) == ["last"]


def test_duplicate_node_names(save, tmp_path: Path) -> None:
    kinds = ("Relu", "Sin", "Cos", "Relu")
    nodes = [
        helper.make_node(kind, [f"v{i}"], [f"v{i + 1}"], name="" if kind == "Sin" else "same")
        for i, kind in enumerate(kinds)
    ]
    path = save(nodes, [value("v0", [2])], [value("v4", [2])])
    graph = read(path, tmp_path / "cache")
    consistent(graph)
    assert [t.op_type for t in graph.tasks] == list(kinds)


def test_sparse_initializer(save, tmp_path: Path) -> None:
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sp", TensorProto.FLOAT, [2], [1.0, 2.0]),
        helper.make_tensor("sp_indices", TensorProto.INT64, [2], [0, 5]),
        [2, 4],
    )
    path = save(
        [helper.make_node("Add", ["x", "sp"], ["y"])],
        [value("x", [2, 4])],
        [value("y", [2, 4])],
        sparse=[sparse],
    )
    graph = read(path, tmp_path / "cache")
    assert names(graph, graph.inputs) == ["x"]
    assert graph.tasks[0].initializers == ("sp",)


def test_same_output_twice(save, tmp_path: Path) -> None:
    path = save(
        [helper.make_node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y"), value("y")]
    )
    graph = read(path, tmp_path / "cache")
    assert names(graph, graph.outputs) == ["y", "y"]


def test_data_dependent_shapes_have_types(save, tmp_path: Path) -> None:
    path = save(
        [
            helper.make_node("NonZero", ["x"], ["i"]),
            helper.make_node("Transpose", ["i"], ["t"], perm=[1, 0]),
            helper.make_node("GatherND", ["x", "t"], ["y"]),
        ],
        [value("x", ["n", 3])],
        [value("y", ["m"])],
    )
    graph = read(path, tmp_path / "cache")
    consistent(graph)
    assert tensor(graph, "i").shape is not None
    assert tensor(graph, "i").shape[0] == 2


def test_unoptimised_model_where_it_cannot_be_saved(rich: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(optimise_module, "_saved_by_runtime", lambda *_: None)
    graph = read(rich, tmp_path / "cache")
    consistent(graph)
    assert graph.initializers["w"].data_location == TensorProto.EXTERNAL
    feed = {
        "x": to_value(np.ones((1, 32), np.float32), TensorProto.FLOAT),
        "flag": to_value(np.array(False), TensorProto.BOOL),
    }
    first, second = (
        open_session(str(path)).run(feed, ["c"])[0].to_numpy()
        for path in (rich, graph.folder / "model.onnx")
    )
    np.testing.assert_array_equal(first, second)


def test_plain_model_copies_external_data_and_lifts_constants(save, tmp_path: Path, monkeypatch):
    path = save(
        [
            helper.make_node("Constant", [], ["k"], value=weight("k", 4)),
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "k"], ["y"]),
        ],
        [value("x", [1, 4])],
        [value("y", [1, 4])],
        [weight("w", 4, 4)],
    )
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="d", size_threshold=0)
    monkeypatch.setattr(optimise_module, "_saved_by_runtime", lambda *_: None)
    graph = read(path, tmp_path / "cache")
    assert [t.op_type for t in graph.tasks] == ["MatMul", "Add"]
    assert (graph.folder / "weights.bin").stat().st_size >= 64
    feed = {"x": to_value(np.ones((1, 4), np.float32), TensorProto.FLOAT)}
    want, got = (open_session(str(p)).run(feed)[0].to_numpy() for p in (path, graph.model_path))
    np.testing.assert_array_equal(want, got)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "no graph"),
        (b"\x00" * 100, "not an ONNX model"),
        (b"<html>not found</html>", "not an ONNX model"),
    ],
)
def test_what_is_no_model(content, message, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        read(path, tmp_path / "cache")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_operator_is_named(save, tmp_path: Path) -> None:
    path = save([helper.make_node("Nonsense", ["x"], ["y"])], [value("x", [1])], [value("y")])
    with pytest.raises(ModelError, match="Nonsense"):
        read(path, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_unoptimised_model_where_what_was_saved_does_not_load(save, tmp_path: Path, monkeypatch):
    path = save([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1])], [value("y", [1])])
    broken = onnx.load(path)
    broken.graph.node[0].op_type = "Nonsense"
    monkeypatch.setattr(optimise_module, "_saved_by_runtime", lambda *_: broken)
    graph = read(path, tmp_path / "cache")
    assert [t.op_type for t in graph.tasks] == ["Relu"]
