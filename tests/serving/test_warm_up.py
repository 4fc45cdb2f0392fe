"""Queries that a model answers before it is ready."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import read_entries
from surplus.engine.repository.model_config import parse_config
from surplus.engine.serving.loads import loaded
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.warm_up import read_warm_ups, real_inputs, warmed
from tests.repository.quick_start import save, scaled
from tests.serving.fakes import Function

INPUT = 'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } }'


def config(folder, warm_up, more="max_batch_size: 4"):
    file = folder / "config.pbtxt"
    return parse_config(f"{more}\nmodel_warmup {{ {warm_up} }}\n", file, "net")


class Recorded(Function):
    """Remembers what it is asked."""

    def __init__(self, settings):
        self.asked = []
        spec = TensorSpec("x", "FP32", (-1, 2))
        super().__init__(None, (spec,), (TensorSpec("y", "FP32", (-1, 2)),))
        self.config = settings

    async def infer(self, inputs, outputs, deadline_ns, priority=0):
        self.asked.append(inputs["x"].copy())
        return {"y": inputs["x"]}


def test_each_query_is_asked_as_often_as_it_says(tmp_path):
    zeros = f'name: "zeros" batch_size: 3 count: 2 {INPUT}'
    random = f'name: "some" {INPUT.replace("zero_data", "random_data")}'
    model = Recorded(config(tmp_path, zeros + "} model_warmup {" + random))
    assert warmed(model) is model
    assert [array.shape for array in model.asked] == [(3, 2), (3, 2), (1, 2)]
    assert not np.any(model.asked[0])
    assert np.ptp(model.asked[2]) > 0
    assert not model.closed


def test_without_a_batch_dimension_dims_are_the_shape(tmp_path):
    (query,) = read_warm_ups(config(tmp_path, f'name: "a" {INPUT}', more=""))
    assert query.inputs["x"].shape == (2,)


@pytest.mark.parametrize(
    ("type_", "dtype"), [("TYPE_INT8", "int8"), ("TYPE_BOOL", "bool"), ("TYPE_STRING", "object")]
)
@pytest.mark.parametrize("kind", ["zero_data", "random_data"])
def test_every_datatype_is_made_up(tmp_path, type_, dtype, kind):
    text = INPUT.replace("TYPE_FP32", type_).replace("zero_data", kind)
    (query,) = read_warm_ups(config(tmp_path, text))
    assert query.inputs["x"].dtype == dtype
    assert real_inputs(config(tmp_path, text)) is None, "nothing to measure a model with"


def from_file(file="numbers"):
    return INPUT.replace("zero_data: true", f'input_data_file: "{file}"')


def test_files_are_asked_and_measured_with(tmp_path):
    save(scaled(2), tmp_path / "net" / "1" / "model.onnx")
    (tmp_path / "net" / "warmup").mkdir()
    numbers = np.arange(8, dtype=np.float32).reshape(2, 4)
    (tmp_path / "net" / "warmup" / "numbers").write_bytes(numbers.tobytes())
    text = from_file().replace('"x"', '"INPUT0"').replace("[ 2 ]", "[ 4 ]")
    (tmp_path / "net" / "config.pbtxt").write_text(
        f'max_batch_size: 4\nmodel_warmup {{ name: "file" batch_size: 2 {text} }}'
    )
    (entry,) = read_entries(tmp_path / "net", "net")
    np.testing.assert_array_equal(real_inputs(entry.config)["INPUT0"], numbers)
    model = loaded(entry, LoadParams(devices="cpu:1", cache=tmp_path / "cache"))
    try:
        answer = asyncio.run(model.infer({"INPUT0": numbers}, None, None))
    finally:
        model.close()
    np.testing.assert_array_equal(answer["OUTPUT0"], 2 * numbers)


@pytest.mark.parametrize(
    ("warm_up", "why"),
    [
        (f"batch_size: 5 {INPUT}", "[0].batch_size: is 5; at most 4, by max_batch_size"),
        ('name: "none"', "[0].inputs: there is none"),
        (INPUT.replace("data_type: TYPE_FP32", ""), ".x.data_type: is missing"),
        (INPUT.replace("[ 2 ]", "[ -1 ]"), ".x.dims: [-1] leaves a size open"),
        (INPUT.replace("zero_data: true", ""), "needs zero_data, random_data or input_data_file"),
        (from_file("../config.pbtxt"), ".input_data_file: '../config.pbtxt' is not within "),
        (from_file("nothing"), "nothing: No such file or directory"),
        (from_file("short"), "short: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_line_and_field(tmp_path, warm_up, why):
    (tmp_path / "warmup").mkdir()
    (tmp_path / "warmup" / "short").write_bytes(b"1234")
    with pytest.raises(ConfigError) as error:
        read_warm_ups(config(tmp_path, warm_up))
    assert why in str(error.value)
    assert f"{tmp_path}/config.pbtxt:2: model_warmup[0]" in str(error.value)


def test_a_query_that_fails_keeps_the_model_from_being_ready(tmp_path):
    model = Recorded(config(tmp_path, f'name: "wide" {INPUT.replace("[ 2 ]", "[ 3 ]")}'))
    with pytest.raises(ConfigError, match=r"config.pbtxt:2: model_warmup\[0\]: the query 'wide'"):
        warmed(model)
    assert model.closed
