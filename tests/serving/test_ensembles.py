"""Ensembles of a repository as clients see them, whoever speaks and however they run."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http

from surplus.engine.serving.server_params import FrontEnd
from tests.ensembles.steps import SCALE, SHIFT, rows, written
from tests.repository.serving_repositories import served_repository as started

ENSEMBLE = """
platform: "ensemble"
max_batch_size: 8
input [ { name: "RAW" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [
  { name: "OUT" data_type: TYPE_FP32 dims: [ 3 ] },
  { name: "TOTAL" data_type: TYPE_FP32 dims: [ 1 ] }
]
ensemble_scheduling {
  step [
    {
      model_name: "scale"
      model_version: -1
      input_map { key: "x" value: "RAW" }
      output_map { key: "y" value: "mid" }
    },
    {
      model_name: "shift"
      model_version: -1
      input_map { key: "x" value: "mid" }
      output_map { key: "y" value: "OUT" }
      output_map { key: "total" value: "TOTAL" }
    }
  ]
}
"""

RESHAPED = """
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 1 ] reshape { shape: [ 3 ] } } ]
"""


def repository(root, texts=None, config=ENSEMBLE):
    """Steps of two versions, of which the newest counts, and the ensemble of them."""
    root.mkdir()
    for name, path in written(root, texts or {"scale": SCALE, "shift": SHIFT}).items():
        model = path.read_bytes()
        path.unlink()
        for version, content in (("1", model.replace(b"Relu", b"Neg")), ("2", model)):
            (root / name / version).mkdir()
            (root / name / version / "model.onnx").write_bytes(content)
    (root / "both").mkdir()
    (root / "both" / "config.pbtxt").write_text(config)
    return root


@contextmanager
def served_repository(root, cache, front_end=FrontEnd.AUTO):
    thread = started(root, cache, front_end)
    try:
        yield thread
    finally:
        thread.stop()


def asked(client_module, client, array, model="both"):
    given = client_module.InferInput("RAW", list(array.shape), "FP32")
    given.set_data_from_numpy(array)
    answer = client.infer(model, [given])
    return answer.as_numpy("OUT"), answer.as_numpy("TOTAL")


def check(answer, array):
    out = np.maximum(2 * array, 0) + 5
    np.testing.assert_array_equal(answer[0], out)
    np.testing.assert_allclose(answer[1], out.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_steps_are_one_plan(tmp_path, front_end):
    root = repository(tmp_path / "models")
    with served_repository(root, tmp_path / "cache", front_end) as thread:
        client = triton.InferenceServerClient(thread.url)
        check(asked(triton, client, rows(5)), rows(5))
        config = client.get_model_config("both", as_json=True)["config"]
        assert config["platform"] == "ensemble"
        assert config["parameters"]["ensemble"]["string_value"] == "one plan of 2 steps"
        assert config["ensemble_scheduling"]["step"][0]["model_name"] == "scale"
        assert client.is_model_ready("scale"), "steps answer by themselves, too"
        metadata = client.get_model_metadata("both")
        assert (metadata.platform, list(metadata.versions)) == ("ensemble", ["1"])
        assert [list(each.shape) for each in metadata.outputs] == [[-1, 3], [-1, 1]]
        (counted,) = client.get_inference_statistics("both").model_stats
        assert (counted.inference_count, counted.execution_count) == (1, 1)
        assert counted.inference_stats.compute_infer.ns > 0
        with triton_http.InferenceServerClient(thread.http_url) as rest:
            check(asked(triton_http, rest, rows(2)), rows(2))


def test_steps_run_in_turn_where_one_is_reshaped(tmp_path):
    config = ENSEMBLE.replace("dims: [ 3 ] } ]\noutput", "dims: [ 3, 1 ] } ]\noutput")
    root = repository(tmp_path / "models", config=config)
    (root / "scale" / "config.pbtxt").write_text(RESHAPED)
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        check(asked(triton, client, rows(5).reshape(5, 3, 1)), rows(5))
        config = client.get_model_config("both", as_json=True)["config"]
        told = config["parameters"]["ensemble"]["string_value"]
        assert told == "2 steps in turn: step 'scale': its configuration reshapes 'x'"


def test_an_ensemble_within_another(tmp_path):
    root = repository(tmp_path / "models")
    (root / "outer").mkdir()
    step = """
    { model_name: "both" model_version: -1
      input_map { key: "RAW" value: "FIRST" }
      output_map { key: "OUT" value: "LAST" } } """
    outer = (
        'platform: "ensemble"\n'
        'input [ { name: "FIRST" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]\n'
        'output [ { name: "LAST" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]\n'
        f"ensemble_scheduling {{ step [ {step} ] }}\n"
    )
    (root / "outer" / "config.pbtxt").write_text(outer)
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        given = triton.InferInput("FIRST", [2, 3], "FP32")
        given.set_data_from_numpy(rows(2))
        found = client.infer("outer", [given]).as_numpy("LAST")
        np.testing.assert_array_equal(found, np.maximum(2 * rows(2), 0) + 5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"scale"', '"nowhere"'), r"config.pbtxt:\d+: .*step\[0\].model_name: there is no model"),
        (('"scale"\n      model_version: -1', '"scale"\n      model_version: 7'),
         r"step\[0\].model_version: step 'scale' has no version 7"),
        (('value: "RAW"', 'value: "OUT"'), r"config.pbtxt:\d+: input\[0\]: 'RAW' is read by no"),
        (('"scale"', '"both"'), r"step\[0\].model_name: 'both' is a step of itself"),
        (("dims: [ 1 ]", "dims: [ 2 ]"), r"config.pbtxt:\d+: output\[1\].dims: is \[2\]"),
    ],
    ids=["model", "version", "cycle", "itself", "dims"],
)  # fmt: skip
def test_a_broken_one_keeps_no_other_from_being_served(tmp_path, change, says):
    root = repository(tmp_path / "models", config=ENSEMBLE.replace(*change, 1))
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        assert client.is_model_ready("scale")
        model = thread.server.plane.models.find("both")
        assert re.search(says, model.reason), model.reason


def test_rows_of_many_queries_are_one_call(tmp_path):
    """The merged graph's rows are known not to mix, as of any model."""
    root = repository(tmp_path / "models")
    with served_repository(root, tmp_path / "cache") as thread:
        facts = thread.server.plane.models.find("both").executor.facts
        assert "rows" not in facts.get("batches", "") or "mix" not in facts["batches"]
        assert "batches" in facts


def test_a_step_that_changes_is_merged_anew(tmp_path):
    root = repository(tmp_path / "models")
    with served_repository(root, tmp_path / "cache"):
        pass
    onnx.save(onnx.parser.parse_model(SCALE.replace("2.0", "3.0")), root / "scale/2/model.onnx")
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        out, _ = asked(triton, client, rows(2))
        np.testing.assert_array_equal(out, np.maximum(3 * rows(2), 0) + 5)
