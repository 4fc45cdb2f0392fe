"""What the merged graph answers is what the steps answer in turn, bit by bit."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.numpy_helper import from_array, to_array

from surplus.engine.ensembles.merged_file import merged_file
from surplus.engine.ensembles.merging import NotMerged
from surplus.engine.errors import ConfigError
from tests.ensembles.steps import (
    SCALE,
    SHIFT,
    answer,
    ensemble,
    in_turn,
    models,
    rows,
    written,
)

TWO = (
    ["RAW"],
    ["OUT", "TOTAL"],
    ("scale", {"x": "RAW"}, {"y": "mid"}),
    ("shift", {"x": "mid"}, {"y": "OUT", "total": "TOTAL"}),
)


def check(tmp_path, asked, texts, inputs):
    paths = written(tmp_path, texts)
    merged = merged_file(asked, models(asked, paths), tmp_path / "cache")
    onnx.checker.check_model(str(merged), full_check=True)
    expected, found = in_turn(asked, paths, inputs), answer(merged, inputs)
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    return onnx.load(merged)


def test_steps_that_name_their_values_alike(tmp_path):
    model = check(tmp_path, ensemble(*TWO), {"scale": SCALE, "shift": SHIFT}, {"RAW": rows()})
    sizes = [
        d.dim_param
        for v in (*model.graph.input, *model.graph.output)
        for d in v.type.tensor_type.shape.dim[:1]
    ]
    assert len(set(sizes)) == 1, "rows of the input are those of the outputs"


def test_steps_in_any_order(tmp_path):
    turned = (*TWO[:2], TWO[3], TWO[2])
    paths = written(tmp_path, {"scale": SCALE, "shift": SHIFT})
    asked = ensemble(*turned)
    found = answer(merged_file(asked, models(asked, paths), tmp_path / "cache"), {"RAW": rows()})
    expected = in_turn(ensemble(*TWO), paths, {"RAW": rows()})
    np.testing.assert_array_equal(found["OUT"], expected["OUT"])


def test_one_tensor_for_several_steps_and_one_model_in_two(tmp_path):
    asked = ensemble(
        ["RAW"],
        ["A", "B", "mid"],
        ("scale", {"x": "RAW"}, {"y": "mid"}),
        ("scale", {"x": "mid"}, {"y": "A"}),
        ("shift", {"x": "mid"}, {"y": "B"}),
    )
    check(tmp_path, asked, {"scale": SCALE, "shift": SHIFT}, {"RAW": rows()})


PASSED_ON = """
<ir_version: 8, opset_import: ["" : 13]>
passed (float[N, 3] x, float[N, 3] other) => (float[N, 3] x, float[2] constant, float[N, 3] sum)
<float[2] constant = {1.0, 2.0}>
{ sum = Add(x, other) }
"""


def test_inputs_twice_the_same_outputs_that_are_inputs_or_constants(tmp_path):
    asked = ensemble(
        ["RAW"],
        ["SAME", "C", "SUM"],
        ("passed", {"x": "RAW", "other": "RAW"}, {"x": "SAME", "constant": "C", "sum": "SUM"}),
    )
    check(tmp_path, asked, {"passed": PASSED_ON}, {"RAW": rows()})


BRANCH = """
<ir_version: 8, opset_import: ["" : 13]>
branch (float[N, 3] x) => (float[N, 3] y)
<float[1] factor = {3.0}, float zero = {0.0}, int64[2] both = {0, 1}>
{
  total = ReduceSum <keepdims = 0> (x, both)
  positive = Greater(total, zero)
  y = If (positive) <
    then_branch = yes () => (float[N, 3] inner) { inner = Mul(x, factor) },
    else_branch = no () => (float[N, 3] inner) { inner = Sub(x, factor) }
  >
}
"""


@pytest.mark.parametrize("sign", [1, -1])
def test_bodies_that_read_from_outside(tmp_path, sign):
    asked = ensemble(
        ["RAW"], ["OUT"], ("branch", {"x": "RAW"}, {"y": "m"}), ("scale", {"x": "m"}, {"y": "OUT"})
    )
    inputs = {"RAW": sign * np.abs(rows())}
    check(tmp_path, asked, {"branch": BRANCH, "scale": SCALE}, inputs)


def function_model(offset: float) -> str:
    return f"""
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
calls (float[N, 3] x) => (float[N, 3] y) {{ y = own.move(x) }}
<domain: "own", opset_import: ["" : 17]>
move (x) => (y) {{ c = Constant<value = float {{{offset}}}>()  y = Add(x, c) }}
"""


def test_functions_of_one_name_stay_apart(tmp_path):
    asked = ensemble(
        ["RAW"], ["OUT"], ("a", {"x": "RAW"}, {"y": "mid"}), ("b", {"x": "mid"}, {"y": "OUT"})
    )
    check(tmp_path, asked, {"a": function_model(1.5), "b": function_model(-9.0)}, {"RAW": rows()})


def test_versions_that_mean_the_same_and_those_that_are_converted(tmp_path):
    old = """
    <ir_version: 8, opset_import: ["" : 11]>
    old (float[N, 3] x) => (float[N, 1] total) { total = ReduceSum <axes = [1]> (x) }
    """
    newer = SCALE.replace("N, 3]", "N, 1]").replace("13", "17")
    asked = ensemble(
        ["RAW"], ["OUT"], ("old", {"x": "RAW"}, {"total": "m"}), ("new", {"x": "m"}, {"y": "OUT"})
    )
    model = check(tmp_path, asked, {"old": old, "new": newer}, {"RAW": rows()})
    assert model.opset_import[0].version == 17


def test_what_cannot_be_converted_is_not_merged(tmp_path):
    old = (
        function_model(1.0).replace("17", "11").replace("own.move(x)", "ReduceSum <axes = [1]>(x)")
    )
    asked = ensemble(
        ["RAW"], ["OUT"], ("old", {"x": "RAW"}, {"y": "mid"}), ("scale", {"x": "mid"}, {"y": "OUT"})
    )
    paths = written(tmp_path, {"old": old, "scale": SCALE})
    with pytest.raises(NotMerged, match="functions"):
        merged_file(asked, models(asked, paths), tmp_path / "cache")


def test_weights_in_other_files_are_linked_and_not_copied(tmp_path):
    paths = written(tmp_path, {"scale": SCALE, "shift": SHIFT})
    for path in paths.values():
        model = onnx.load(path)
        factor = model.graph.initializer[0]  # whose values the parser does not write as bytes
        factor.CopyFrom(from_array(to_array(factor), factor.name))
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    asked = ensemble(*TWO)
    file = merged_file(asked, models(asked, paths), tmp_path / "cache")
    found = answer(file, {"RAW": rows()})
    np.testing.assert_array_equal(found["OUT"], in_turn(asked, paths, {"RAW": rows()})["OUT"])
    linked = file.parent / "step0" / "w.bin"
    assert linked.samefile(paths["scale"].with_name("w.bin"))


def test_the_file_is_made_once_and_anew_when_a_step_changes(tmp_path):
    paths = written(tmp_path, {"scale": SCALE, "shift": SHIFT})
    asked = ensemble(*TWO)
    first = merged_file(asked, models(asked, paths), tmp_path / "cache")
    made_ns = first.stat().st_mtime_ns
    assert (
        merged_file(asked, models(asked, paths), tmp_path / "cache").stat().st_mtime_ns == made_ns
    )
    onnx.save(onnx.parser.parse_model(SCALE.replace("2.0", "4.0")), paths["scale"])
    assert merged_file(asked, models(asked, paths), tmp_path / "cache") != first


def step(index=1, **changes):
    """The ensemble of two with a step, of which something is wrong."""
    asked = ensemble(*TWO)
    steps = list(asked.steps)
    fields = {**vars(steps[index]), **changes}
    steps[index] = type(steps[index])(**fields)
    return type(asked)(**{**vars(asked), "steps": steps})


WIDE = SHIFT.replace("N, 3]", "N, 7]")
INTEGER = """
<ir_version: 8, opset_import: ["" : 13]>
integer (int64[N, 3] x) => (int64[N, 3] y, int64[N, 1] total)
{ y = Identity(x)  total = Identity(x) }
"""


@pytest.mark.parametrize(
    ("asked", "texts", "says"),
    [
        (step(inputs={"x": "nothing"}), {}, r"step\[1\].input_map: step 'shift' reads 'nothing'"),
        (step(inputs={"q": "mid"}), {}, r"step\[1\].input_map: step 'shift' has no input 'q'"),
        (step(outputs={"q": "OUT"}), {}, r"'TOTAL' is made by no step"),
        (step(outputs={"q": "OUT", "y": "TOTAL"}), {}, r"output_map: step 'shift' has no outp"),
        (step(0, inputs={"x": "OUT"}), {}, r"'RAW' is read by no step"),
        (step(outputs={"y": "mid", "total": "TOTAL"}), {}, r"makes 'mid', as step 'scale' does"),
        (step(outputs={"y": "RAW", "total": "TOTAL"}), {}, r"makes 'RAW' of its 'y'"),
        (step(), {"shift": WIDE}, r"input_map: tensor 'mid' of step 'scale' does not fit"),
        (step(), {"shift": INTEGER}, r"tensor 'mid' .* FLOAT is not INT64"),
    ],
    ids=lambda value: "" if not isinstance(value, str) else value[:40],
)  # fmt: skip
def test_what_is_wrong_names_file_step_and_tensor(tmp_path, asked, texts, says):
    paths = written(tmp_path, {"scale": SCALE, "shift": SHIFT, **texts})
    with pytest.raises(ConfigError, match="config.pbtxt: .*" + says):
        merged_file(asked, models(asked, paths), tmp_path / "cache")


def test_steps_that_wait_for_one_another(tmp_path):
    asked = ensemble(
        ["RAW"],
        ["A"],
        ("passed", {"x": "RAW", "other": "B"}, {"sum": "A"}),
        ("scale", {"x": "A"}, {"y": "B"}),
    )
    paths = written(tmp_path, {"passed": PASSED_ON, "scale": SCALE})
    with pytest.raises(ConfigError, match=r"'passed', 'scale' wait for one another: 'B' is made"):
        merged_file(asked, models(asked, paths), tmp_path / "cache")


def test_needed_inputs_without_a_tensor(tmp_path):
    asked = ensemble(["RAW"], ["A"], ("passed", {"x": "RAW"}, {"sum": "A"}))
    paths = written(tmp_path, {"passed": PASSED_ON})
    with pytest.raises(ConfigError, match=r"input_map: nothing is given to input 'other'"):
        merged_file(asked, models(asked, paths), Path(tmp_path / "cache"))


def test_defaults_may_be_left_or_given(tmp_path):
    text = """
    <ir_version: 8, opset_import: ["" : 13]>
    d (float[N, 3] x, float[1] by) => (float[N, 3] y) <float[1] by = {4.0}> { y = Mul(x, by) }
    """
    left = ensemble(["RAW"], ["A"], ("d", {"x": "RAW"}, {"y": "A"}))
    check(tmp_path, left, {"d": text}, {"RAW": rows()})
    (tmp_path / "given").mkdir()
    given = ensemble(["RAW", "BY"], ["A"], ("d", {"x": "RAW", "by": "BY"}, {"y": "A"}))
    inputs = {"RAW": rows(), "BY": np.full(1, 7, np.float32)}
    check(tmp_path / "given", given, {"d": text}, inputs)
