"""The ONNX Runtime layer of the core: sessions, values across them, errors, lifetimes."""

import gc
import threading
import weakref

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import Session, Value, WholeModel
from surplus.engine.native import load_runtime
from surplus.engine.values import dtype_of, from_value, to_value
from tests.core.known_types import KNOWN

load_runtime()

FLOAT = TensorProto.FLOAT


def tensor_type(elem_type, shape=None):
    return helper.make_tensor_type_proto(elem_type, shape)


def make_model(nodes, inputs, outputs, initializers=(), opset=18, domains=()):
    """Bytes of a model; inputs and outputs are (name, TypeProto)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_value_info(*item) for item in inputs],
        [helper.make_value_info(*item) for item in outputs],
        list(initializers),
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 3) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def identity(kind):
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    return make_model(nodes, [("x", kind)], [("y", kind)], opset=19)  # the first with float8


def relu(shape=None):
    kind = tensor_type(FLOAT, shape)
    return make_model([helper.make_node("Relu", ["x"], ["y"])], [("x", kind)], [("y", kind)])


def run(session, **inputs):
    results = session.run({name: to_value(data) for name, data in inputs.items()})
    return [from_value(result) for result in results]


@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
@pytest.mark.parametrize("elem_type", [*range(1, 14), 16, 17, 18, 19, 20])
def test_identity_of_every_type_that_onnx_runtime_computes_with(elem_type, shape):
    if elem_type == TensorProto.STRING:
        array = np.full(shape, "grüße\0x", dtype=object)
    else:
        array = np.ones(shape).astype(dtype_of(elem_type))
    (result,) = run(Session(identity(tensor_type(elem_type))), x=array)
    assert result.dtype == array.dtype
    assert result.shape == shape
    assert result.tolist() == array.tolist()


@pytest.mark.parametrize("elem_type", [code for code in range(21, 27) if code in KNOWN])
def test_types_without_operators_pass_through_a_model(elem_type):
    kind = tensor_type(elem_type)
    session = Session(make_model([], [("x", kind)], [("x", kind)]))
    assert session.input_info[0][:3] == ("x", "tensor", elem_type)
    array = np.ones((3, 3)).astype(dtype_of(elem_type))
    (result,) = run(session, x=array)
    assert result.tobytes() == array.tobytes()


def test_sequences_go_in_and_out():
    session = Session(identity(helper.make_sequence_type_proto(tensor_type(FLOAT))))
    assert session.input_info[0][1:3] == ("sequence", FLOAT)
    arrays = [np.ones((2, 2), np.float32), np.zeros(0, np.float32)]
    (result,) = run(session, x=arrays)
    assert [item.tolist() for item in result] == [item.tolist() for item in arrays]
    assert run(session, x=[]) == [[]]


@pytest.mark.parametrize("of_sequence", [False, True])
def test_absent_optionals_are_none(of_sequence):
    held = tensor_type(FLOAT)
    held = helper.make_sequence_type_proto(held) if of_sequence else held
    kind = helper.make_optional_type_proto(held)
    nodes = [
        helper.make_node("Identity", ["x"], ["y"]),
        helper.make_node("OptionalHasElement", ["x"], ["has"]),
    ]
    outputs = [("y", kind), ("has", tensor_type(TensorProto.BOOL, []))]
    session = Session(make_model(nodes, [("x", kind)], outputs))
    assert session.input_info[0][1:3] == ("optional", FLOAT)
    none, has = session.run({"x": None})
    assert none.kind == "optional_none"
    assert (none.nbytes, from_value(none), bool(from_value(has))) == (0, None, False)
    array = np.ones(3, np.float32)
    present, has = run(session, x=[array] if of_sequence else array)
    assert bool(has)
    np.testing.assert_array_equal(present[0] if of_sequence else present, array)
    # what came out absent goes in again
    assert not from_value(session.run({"x": none})[1])


def test_maps_come_out_as_dicts():
    zip_map = helper.make_node(
        "ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[3, 5]
    )
    a_map = onnx.TypeProto()
    a_map.map_type.key_type = TensorProto.INT64
    a_map.map_type.value_type.CopyFrom(tensor_type(FLOAT))
    outputs = [("y", helper.make_sequence_type_proto(a_map))]
    model = make_model([zip_map], [("x", tensor_type(FLOAT))], outputs, domains=["ai.onnx.ml"])
    (result,) = run(Session(model), x=np.array([[1, 2], [3, 4]], np.float32))
    assert result == [{3: 1.0, 5: 2.0}, {3: 3.0, 5: 4.0}]


def test_outputs_that_share_an_inputs_memory_keep_it_alive():
    kind = tensor_type(FLOAT)
    optional = helper.make_optional_type_proto(kind)
    model = make_model(
        [helper.make_node("Optional", ["x"], ["y"])], [("x", kind)], [("y", optional)]
    )
    for session in (Session(model), Session(make_model([], [("x", kind)], [("x", kind)]))):
        (result,) = session.run({"x": to_value(np.full(1 << 18, 7, np.float32))})
        gc.collect()
        np.full(1 << 18, 9, np.float32)  # would reuse the memory if it had been freed
        assert (from_value(result) == 7).all()


def test_an_input_is_freed_with_its_value_and_not_before():
    array = np.ones(8, np.float32)
    alive = weakref.ref(array)
    value = to_value(array)
    del array
    assert alive() is not None
    del value
    assert alive() is None


def test_an_output_outlives_its_session_and_value():
    session = Session(relu())
    (value,) = session.run({"x": to_value(np.array([-1, 2], np.float32))})
    array = value.to_numpy()
    del session, value
    gc.collect()
    assert array.tolist() == [0, 2]


def test_many_threads_share_values_and_sessions():
    session = Session(relu())
    array = np.arange(-50, 50, dtype=np.float32)
    expected = np.maximum(array, 0)
    wrong = []

    def work():
        for _ in range(200):
            (result,) = run(session, x=array)
            if not np.array_equal(result, expected):
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_model_information_names_types_and_dimensions():
    kind = tensor_type(FLOAT, ["batch", 3, None])
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], [("x", kind)], [("y", kind)])
    session = Session(model)
    assert session.input_names == ["x"]
    assert session.output_names == ["y"]
    assert session.input_info == [("x", "tensor", FLOAT, ["batch", 3, -1])]
    assert session.output_info == [("y", "tensor", FLOAT, ["batch", 3, -1])]


def test_unknown_rank_is_told_from_a_scalar():
    assert Session(relu()).input_info[0][3] is None
    assert Session(relu([])).input_info[0][3] == []


def test_outputs_are_chosen_by_name():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    kind = tensor_type(FLOAT)
    session = Session(make_model(nodes, [("x", kind)], [("a", kind), ("b", kind)]))
    x = {"x": to_value(np.array([1], np.float32))}
    assert [from_value(v).tolist() for v in session.run(x, ["b", "a"])] == [[-1], [1]]
    assert [from_value(v).tolist() for v in session.run(x, ["b"])] == [[-1]]


def test_inputs_with_a_default_may_be_left_out():
    kind = tensor_type(FLOAT, [1])
    default = helper.make_tensor("w", FLOAT, [1], [5.0])
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    model = make_model(nodes, [("x", kind), ("w", kind)], [("y", kind)], [default])
    session = Session(model)
    one = np.ones(1, np.float32)
    assert run(session, x=one) == run(session, x=one, w=None) == [[6.0]]
    assert run(session, x=one, w=one) == [[2.0]]


@pytest.mark.parametrize("level", ["disable_all", "basic", "extended", "all"])
@pytest.mark.parametrize("width", [1, 2])
def test_width_and_level_do_not_change_the_result(width, level):
    session = Session(relu(), width=width, level=level)
    assert run(session, x=np.array([-1, 2], np.float32))[0].tolist() == [0, 2]


def test_the_optimised_model_is_saved(tmp_path):
    path = tmp_path / "optimised.onnx"
    Session(relu(), level="basic", optimized_path=str(path))
    assert [node.op_type for node in onnx.load(path).graph.node] == ["Relu"]


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("kind", [Session, WholeModel])
def test_the_user_of_a_file_is_called_before_it_is_optimised(tmp_path, kind, width):
    path, optimised = tmp_path / "m.onnx", tmp_path / "optimised.onnx"
    steps = []
    path.write_bytes(relu([2]))
    opened = kind(str(path), width, when_read=lambda: steps.append("read"))
    assert steps == ["read"]
    assert opened.input_info == Session(relu([2])).input_info
    session = Session(
        str(path),
        optimized_path=str(optimised),
        when_read=lambda: steps.append(optimised.exists()),
    )
    assert (steps, optimised.exists()) == (["read", False], True)
    assert run(session, x=np.array([-1, 2], np.float32))[0].tolist() == [0, 2]


@pytest.mark.parametrize("kind", [Session, WholeModel])
def test_what_the_user_raises_then_ends_the_opening(tmp_path, kind):
    path = tmp_path / "m.onnx"

    def refuse():
        raise LookupError("not now")

    path.write_bytes(b"no model")
    with pytest.raises(RuntimeError, match=r"m\.onnx"):
        kind(str(path), 1, when_read=refuse)
    path.write_bytes(relu())
    with pytest.raises(LookupError, match="not now"):
        kind(str(path), 1, when_read=refuse)
    with pytest.raises(ValueError, match="not for bytes"):
        Session(relu(), when_read=refuse)


def test_time_counts_runs_and_stops_at_the_budget():
    session = Session(relu())
    inputs = {"x": to_value(np.ones(4, np.float32))}
    durations = session.time(inputs, repeats=5, budget_ns=10**12)
    assert len(durations) == 5
    assert min(durations) > 0
    assert len(session.time(inputs, repeats=1000, budget_ns=0, warmup=0)) == 1


def test_sessions_share_one_arena():
    """50 sessions with 4 MiB of activations each hold one arena's worth, not fifty."""
    psutil = pytest.importorskip("psutil")
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    kind = tensor_type(FLOAT)
    model = make_model(nodes, [("x", kind)], [("y", kind)])
    sessions = [Session(model, level="disable_all") for _ in range(50)]
    inputs = {"x": to_value(np.ones(1 << 20, np.float32))}
    sessions[0].run(inputs)
    before = psutil.Process().memory_info().rss
    for session in sessions:
        session.run(inputs)
    assert psutil.Process().memory_info().rss - before < 64 << 20


def test_weights_in_an_external_file_are_mapped_not_copied(tmp_path):
    weights = np.ones((1 << 12, 1 << 11), np.float32)  # 32 MiB
    tensor = onnx.numpy_helper.from_array(weights, "w")
    kind = tensor_type(FLOAT, None)
    nodes = [helper.make_node("Gather", ["w", "x"], ["y"])]
    index = tensor_type(TensorProto.INT64, [1])
    model = onnx.load_from_string(make_model(nodes, [("x", index)], [("y", kind)], [tensor]))
    path = tmp_path / "big.onnx"
    onnx.save(model, path, save_as_external_data=True, location="big.bin", size_threshold=0)
    del model, tensor
    before = _private_bytes()
    sessions = [Session(str(path), level="extended") for _ in range(4)]
    for session in sessions:
        assert run(session, x=np.array([3]))[0].shape == (1, 1 << 11)
    assert _private_bytes() - before < 16 << 20


def _private_bytes():
    psutil = pytest.importorskip("psutil")
    return psutil.Process().memory_full_info().uss


class TestErrors:
    def test_bytes_that_are_no_model(self):
        with pytest.raises(RuntimeError, match="protobuf"):
            Session(b"certainly not a model")

    def test_no_bytes(self):
        with pytest.raises(RuntimeError, match=r"No graph|empty|ModelProto"):
            Session(b"")

    def test_truncated_file(self, tmp_path):
        path = tmp_path / "cut.onnx"
        path.write_bytes(relu()[:-10])
        with pytest.raises(RuntimeError, match=r"cut\.onnx"):
            Session(str(path))

    def test_missing_file(self, tmp_path):
        with pytest.raises(RuntimeError, match=r"gone\.onnx"):
            Session(str(tmp_path / "gone.onnx"))

    def test_missing_external_data(self, tmp_path):
        tensor = onnx.numpy_helper.from_array(np.ones(4, np.float32), "w")
        kind = tensor_type(FLOAT)
        nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
        model = onnx.load_from_string(make_model(nodes, [("x", kind)], [("y", kind)], [tensor]))
        path = tmp_path / "model.onnx"
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
        (tmp_path / "w.bin").unlink()
        with pytest.raises(RuntimeError, match=r"w\.bin"):
            Session(str(path))

    def test_unknown_operator(self):
        kind = tensor_type(FLOAT)
        nodes = [helper.make_node("Frobnicate", ["x"], ["y"])]
        with pytest.raises(RuntimeError, match="Frobnicate"):
            Session(make_model(nodes, [("x", kind)], [("y", kind)]))

    def test_unknown_names_are_named(self):
        session = Session(relu())
        x = to_value(np.ones(1, np.float32))
        with pytest.raises(RuntimeError, match="no input 'z'; it has: x"):
            session.run({"z": x})
        with pytest.raises(RuntimeError, match="no output 'z'; it has: y"):
            session.run({"x": x}, ["z"])

    def test_missing_input(self):
        with pytest.raises(RuntimeError, match="Missing Input: x"):
            Session(relu()).run({})

    def test_wrong_type_and_shape(self, capfd):
        session = Session(relu([2]))
        with pytest.raises(RuntimeError, match="Unexpected input data type"):
            run(session, x=np.ones(2))
        with pytest.raises(RuntimeError, match="Got: 3 Expected: 2"):
            run(session, x=np.ones(3, np.float32))
        captured = capfd.readouterr()
        assert captured.err == ""  # ONNX Runtime logs nothing of its own

    def test_inputs_that_are_no_values(self):
        with pytest.raises((TypeError, RuntimeError)):
            Session(relu()).run({"x": np.ones(1, np.float32)})

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"width": 0}, "width 0 is below 1"), ({"level": "most"}, "level 'most' is not one of")],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            Session(relu(), **options)

    def test_no_repeats(self):
        with pytest.raises(ValueError, match="at least 1"):
            Session(relu()).time({}, repeats=0, budget_ns=0)


def test_values_cannot_be_made_without_a_factory():
    with pytest.raises(TypeError):
        Value()
