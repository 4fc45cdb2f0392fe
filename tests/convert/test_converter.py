"""The converter with a source that is no torch module: order, checks, files, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.convert.agreement import Tolerance
from surplus.engine.convert.converter import ConvertParams, convert
from surplus.engine.convert.input_spec import parse_inputs
from surplus.engine.convert.samples import draw, given
from surplus.engine.convert.size_one_axes import way_out
from surplus.engine.convert.source import DecidesError
from surplus.engine.errors import ConfigError, ConversionError
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value
from tests.convert.fake_source import WEIGHT, FakeSource, answer

SPECS = parse_inputs(["weight:batchx4:float32"])


def _params(**changed: Any) -> ConvertParams:
    return ConvertParams(**{"inputs": SPECS, **changed})


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def _run(path: Path, x: np.ndarray) -> list[np.ndarray]:
    session = open_session(str(path))
    return [from_value(value) for value in session.run({"weight": to_value(x)})]


def test_files_names_and_checks(tmp_path: Path) -> None:
    made = convert(FakeSource(), _params(), tmp_path / "net.onnx")
    assert _names(tmp_path) == ["net.npz", "net.onnx"]
    model = onnx.load(tmp_path / "net.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.input] == ["weight"]
    assert [value.name for value in model.graph.output] == ["product", "relu"]
    assert made.checked == tuple(
        f"seed {seed}, batch={size}" for seed, size in ((0, 2), (1, 2), (2, 2), (3, 3), (3, 1))
    )
    assert (made.exporter, made.opset, made.notes) == ("first", 18, ("note of first",))
    assert made.largest_difference is not None
    assert made.largest_difference < 1e-5
    with np.load(tmp_path / "net.npz") as inputs:
        assert {name: inputs[name].shape for name in inputs.files} == {"weight": (2, 4)}


def test_traces_of_the_users_machine_are_removed(tmp_path: Path) -> None:
    convert(FakeSource(), _params(), tmp_path / "net.onnx")
    assert b"/home/me" not in (tmp_path / "net.onnx").read_bytes()


def test_output_names_of_the_user(tmp_path: Path) -> None:
    # All of them are names of values inside, too.
    convert(FakeSource(), _params(output_names=["x", "relu"]), tmp_path / "net.onnx")
    x = np.ones((5, 4), np.float32)
    for ours, theirs in zip(_run(tmp_path / "net.onnx", x), answer({"x": x}), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_name_of_an_output_that_an_input_has(tmp_path: Path) -> None:
    convert(FakeSource(names=("weight", "relu")), _params(), tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    assert [value.name for value in model.graph.output] == ["weight_out", "relu"]


def test_weights_in_their_own_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path, x = tmp_path / "net.onnx", np.ones((3, 4), np.float32)
    for _ in range(2):
        weight = rng.random((4, 500), np.float32)
        source = FakeSource(
            {"first": weight}, lambda given, w=weight: [given["weight"] @ w, answer(given)[1]]
        )
        convert(source, _params(inline_limit_bytes=100), path)
        (data,) = tmp_path.glob("*.data")
        assert data.stat().st_size >= weight.nbytes
        np.testing.assert_allclose(_run(path, x)[0], x @ weight, rtol=1e-5)
        assert len(_names(tmp_path)) == 3
    convert(source, _params(), path)
    assert _names(tmp_path) == ["net.npz", "net.onnx"]


def test_a_wrong_file_is_not_written(tmp_path: Path) -> None:
    source = FakeSource({"first": WEIGHT + np.eye(4, 3, dtype=np.float32)})
    with pytest.raises(ConversionError) as raised:
        convert(source, _params(), tmp_path / "net.onnx")
    text = str(raised.value)
    assert text.startswith("the ONNX model is wrong: output 'product': largest difference")
    assert text.endswith("(seed 0, batch=2)")
    assert _names(tmp_path) == []


def test_what_was_there_stays_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_text("old model")
    (tmp_path / "net.npz").write_text("old inputs")
    with pytest.raises(ConversionError, match="operator aten::fancy has no ONNX form"):
        convert(FakeSource({"first": None}), _params(), tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").read_text() == "old model"
    assert (tmp_path / "net.npz").read_text() == "old inputs"
    assert len(_names(tmp_path)) == 2


def test_the_second_exporter_mends_what_the_first_got_wrong(tmp_path: Path) -> None:
    source = FakeSource({"none": None, "wrong": WEIGHT * 2, "right": WEIGHT, "unused": None})
    made = convert(source, _params(), tmp_path / "net.onnx")
    assert source.exports == ["none", "wrong", "right"]
    assert made.exporter == "right"
    assert made.notes[0] == "none could not: operator aten::fancy has no ONNX form"
    assert made.notes[1].startswith("wrong could not: the ONNX model is wrong: output 'product'")


def test_every_exporter_fails(tmp_path: Path) -> None:
    source = FakeSource({"none": None, "wrong": WEIGHT * 2})
    with pytest.raises(ConversionError, match=r"^none: operator.*; wrong: the ONNX model"):
        convert(source, _params(), tmp_path / "net.onnx")
    with pytest.raises(ConversionError, match=r"^operator"):
        convert(source, _params(exporter="none"), tmp_path / "net.onnx")


def test_a_random_module_is_told_apart_from_a_wrong_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def noisy(inputs: Any) -> list[np.ndarray]:
        return [array + rng.random(array.shape, np.float32) for array in answer(inputs)]

    source = FakeSource({"first": WEIGHT, "second": WEIGHT}, noisy)
    with pytest.raises(ConversionError, match="torch itself answers differently each time"):
        convert(source, _params(), tmp_path / "net.onnx")
    assert source.exports == ["first"]
    made = convert(source, _params(seeds=0), tmp_path / "net.onnx")
    assert (made.checked, made.largest_difference) == ((), None)


class Deciding(FakeSource):
    """As torch: the first exporter refuses to freeze what is decided by the data."""

    def export(self, exporter: str, request: Any, path: Path) -> list[str]:
        notes = super().export(exporter, request, path)
        if exporter == "first":
            raise DecidesError("forward decides by the data")
        return notes


def test_decisions_by_the_data_are_traced_and_compared_more_often(tmp_path: Path) -> None:
    made = convert(Deciding({"first": WEIGHT, "traced": WEIGHT}), _params(), tmp_path / "net.onnx")
    assert made.exporter == "traced"
    assert len(made.checked) == 3 + 2 + 16
    assert made.notes[0] == "first could not: forward decides by the data"
    assert "21 inputs compared" in made.notes[-1]


def test_a_frozen_decision_that_few_inputs_show(tmp_path: Path) -> None:
    def decides(inputs: Any) -> list[np.ndarray]:
        (x,) = inputs.values()
        product, relu = answer(inputs)
        return [-product if len(x) == 2 and x[0, 0] < -0.6 else product, relu]

    first = [draw(SPECS, seed, {"batch": 2}).inputs["weight"][0, 0] for seed in range(3)]
    assert min(first) > -0.6
    source = Deciding({"first": WEIGHT, "traced": WEIGHT}, decides)
    with pytest.raises(ConversionError, match=r"^first: forward decides.*; traced: the ONNX model"):
        convert(source, _params(), tmp_path / "net.onnx")


def test_inputs_of_the_users_own(tmp_path: Path) -> None:
    mine = given(SPECS, {"weight": np.full((5, 4), 7, np.float32)}, "mine.npz")
    made = convert(FakeSource(), _params(own=mine, seeds=0), tmp_path / "net.onnx")
    assert made.checked == ("mine.npz, batch=5",)
    with np.load(tmp_path / "net.npz") as example:
        assert (example["weight"] == 7).all()
    source = FakeSource({"first": WEIGHT * 2})
    with pytest.raises(ConversionError, match=r"\(mine.npz, batch=5\)$"):
        convert(source, _params(own=mine, seeds=0), tmp_path / "net.onnx")


def test_a_single_row_of_the_users_own_is_not_what_is_exported_with(tmp_path: Path) -> None:
    mine = given(SPECS, {"weight": np.ones((1, 4), np.float32)}, "mine.npz")
    convert(FakeSource(), _params(own=mine), tmp_path / "net.onnx")
    with np.load(tmp_path / "net.npz") as example:
        assert example["weight"].shape == (2, 4)


def test_what_the_last_bit_decides_is_not_called_wrong(tmp_path: Path) -> None:
    drawn = {draw(SPECS, seed, {"batch": 2}).inputs["weight"].tobytes() for seed in range(9)}

    def brittle(inputs: Any) -> list[np.ndarray]:
        product, relu = answer(inputs)
        (x,) = inputs.values()
        return [product + (len(x) == 2 and x.tobytes() in drawn), relu]

    source = FakeSource({"first": WEIGHT}, brittle)
    with pytest.raises(ConversionError) as raised:
        convert(source, _params(), tmp_path / "net.onnx")
    text = str(raised.value)
    assert text.startswith("cannot be checked on seed 0, batch=2: where only the last bits")
    assert "--inputs F.npz" in text
    assert "--seeds 0" in text


def test_rows_that_tie_in_another_order_are_noted(tmp_path: Path) -> None:
    def reversed_rows(inputs: Any) -> list[np.ndarray]:
        (x,) = inputs.values()
        return [np.zeros((len(x), 1), np.float32), answer(inputs)[1][::-1]]

    source = FakeSource({"first": np.zeros((4, 1), np.float32)}, reversed_rows)
    made = convert(source, _params(), tmp_path / "net.onnx")
    assert made.notes[-1].startswith("rows whose scores tie come in another order than torch's on")


def test_tolerances_reach_the_comparison(tmp_path: Path) -> None:
    source = FakeSource({"first": WEIGHT + np.float32(1e-3)})
    with pytest.raises(ConversionError, match=r"rtol 0\.001"):
        convert(source, _params(), tmp_path / "net.onnx")
    convert(source, _params(tolerance=Tolerance(atol=0.1)), tmp_path / "net.onnx")


def test_an_axis_that_the_export_has_fixed(tmp_path: Path) -> None:
    class Fixed(FakeSource):
        def export(self, exporter: str, request: Any, path: Path) -> list[str]:
            notes = super().export(exporter, request, path)
            model = onnx.load(path)
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
            onnx.save(model, path)
            return notes

    with pytest.raises(ConversionError, match="the ONNX model fails on seed 3, batch=3"):
        convert(Fixed(), _params(), tmp_path / "net.onnx")


def test_the_whole_cause_is_told_and_the_way_out(tmp_path: Path) -> None:
    class Named(FakeSource):
        """Exports the example's size, in a node with a long name."""

        def export(self, exporter: str, request: Any, path: Path) -> list[str]:
            notes = super().export(exporter, request, path)
            model = onnx.load(path)
            size = request.specs[0].axes[0].size
            fixed = onnx.numpy_helper.from_array(np.array([size, 4]), "fixed")
            model.graph.initializer.append(fixed)
            model.graph.node[0].CopyFrom(
                onnx.helper.make_node(
                    "Reshape", [request.input_names[0], "fixed"], ["x"], name="n" * 400
                )
            )
            onnx.save(model, path)
            return notes

    inputs = parse_inputs(["weight:batch=1x4:float32"])
    with pytest.raises(ConversionError) as raised:
        convert(Named(), _params(inputs=inputs), tmp_path / "net.onnx")
    text = str(raised.value)
    assert "the ONNX model fails on seed 3, batch=2: " in text
    assert "requested shape:{1,4}" in text
    assert text.endswith("as in --input weight:batch=2x4:float32")


@pytest.mark.parametrize(
    ("given", "better"),
    [
        (["ids:batch=1xnew=1:int64"], "--input ids:1xnew=2:int64"),
        (
            ["ids:batch=1xnew=1:int64", "past:batch=1x6xpast=8x64:float32", "m:4:bool"],
            "--input ids:1xnew=2:int64 --input past:1x6xpast=8x64:float32",
        ),
        (["ids:batchxnew=3:int64", "fixed:1x1:int64"], ""),
    ],
)
def test_inputs_with_open_axes_of_size_one_are_said_better(given: list[str], better: str) -> None:
    said = way_out(parse_inputs(given))
    assert said.endswith(better)
    assert bool(said) == bool(better)
    if better:
        parse_inputs(better.replace("--input ", "").split())


def test_sizes_that_the_module_refuses(tmp_path: Path) -> None:
    made = convert(FakeSource(refused=(3, 1)), _params(), tmp_path / "net.onnx")
    assert made.checked[-1] == "seed 3, batch=4"
    assert "not checked where torch itself refuses: batch=3, 1" in made.notes
    with pytest.raises(ConversionError) as raised:
        convert(FakeSource(refused=(3, 4, 1)), _params(), tmp_path / "other.onnx")
    assert "axis 'batch' is not dynamic: at every other size tried (3, 4, 1)" in str(raised.value)


def test_forward_that_fails_on_the_example(tmp_path: Path) -> None:
    with pytest.raises(ConversionError) as raised:
        convert(FakeSource(refused=(2,)), _params(), tmp_path / "net.onnx")
    assert str(raised.value) == "forward, given weight float32[2, 4], fails: cannot take 2"


def test_inputs_that_are_not_wanted_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "net.npz").write_text("mine")
    made = convert(FakeSource(), _params(write_inputs=False), tmp_path / "net.onnx")
    assert made.inputs is None
    assert (tmp_path / "net.npz").read_text() == "mine"


def test_operators_that_are_not_standard(tmp_path: Path) -> None:
    class Custom(FakeSource):
        def export(self, exporter: str, request: Any, path: Path) -> list[str]:
            notes = super().export(exporter, request, path)
            model = onnx.load(path)
            model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
            model.graph.node[-1].domain = "com.microsoft"
            model.graph.node[-1].op_type = "Gelu"
            onnx.save(model, path)
            return notes

    with pytest.raises(ConversionError, match=r"not standard: com\.microsoft"):
        convert(Custom(), _params(), tmp_path / "net.onnx")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        convert(FakeSource(), _params(), tmp_path / "no" / "net.onnx")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"opset": 3}, "opset must be in 7.."),
        ({"opset": 1000}, "opset must be in 7.."),
        ({"seeds": -1}, "seeds must be >= 0, got -1"),
        ({"output_names": ["a", "a"]}, "'a' names two"),
        ({"output_names": ["weight", "b"]}, "'weight' names two"),
        ({"output_names": ["", "b"]}, "name is empty"),
    ],
)
def test_params_that_are_wrong(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _params(**changed)


def test_wrong_number_of_output_names(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="has 1 names, forward returns 2 tensors: product"):
        convert(FakeSource(), _params(output_names=["a"]), tmp_path / "net.onnx")
