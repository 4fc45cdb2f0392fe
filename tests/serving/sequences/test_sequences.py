"""Sequences as clients of Triton ask for them, whoever speaks."""

from __future__ import annotations

import queue
from contextlib import contextmanager

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http

from surplus.engine.errors import ConfigError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import read_entries
from surplus.engine.serving.loads import loaded
from surplus.engine.serving.server_params import FrontEnd
from tests.repository.serving_repositories import served_repository
from tests.serving.fakes import WAIT_S
from tests.serving.sequences.accumulator import CONFIG, repository

ONES = np.ones((1, 2), np.float32)


@contextmanager
def served(tmp_path, front_end=FrontEnd.AUTO, config=CONFIG):
    repository(tmp_path / "models", config)
    thread = served_repository(tmp_path / "models", tmp_path / "cache", front_end)
    try:
        yield thread
    finally:
        thread.stop()


def given(module, array=ONES):
    made = module.InferInput("x", list(array.shape), "FP32")
    made.set_data_from_numpy(array)
    return [made]


def ask(client, name, array=ONES, module=triton, **flags):
    return client.infer("sums", given(module, array), sequence_id=name, **flags)


def total(*asked, **options):
    return float(ask(*asked, **options).as_numpy("total")[0, 0])


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_each_sequence_has_its_own_state(tmp_path, front_end):
    with served(tmp_path, front_end) as thread:
        client = triton.InferenceServerClient(thread.url)
        rest = triton_http.InferenceServerClient(thread.http_url)
        first = ask(client, 7, sequence_start=True)
        assert first.as_numpy("total").tolist() == [[11, 11]]
        assert first.as_numpy("seen").tolist() == [[7]]
        assert first.as_numpy("began").tolist() == [[1]]
        assert first.as_numpy("after") is None, "a state is no client's"
        assert total(rest, 8, 3 * ONES, module=triton_http, sequence_start=True) == 13
        assert total(client, 7) == 12
        assert total(rest, 8, module=triton_http) == 14
        last = ask(client, 7, sequence_end=True)
        assert (last.as_numpy("total")[0, 0], last.as_numpy("began")[0, 0]) == (13, 0)
        with pytest.raises(Exception, match="sequence 7 has not begun, or has ended"):
            ask(client, 7)
        assert total(client, 7, sequence_start=True) == 11, "it begins anew"
        assert total(client, 7, sequence_start=True) == 11, "whether or not it has ended"
        rest.close()


def test_queries_of_a_stream_run_in_their_order(tmp_path):
    with served(tmp_path) as thread:
        client, answers = triton.InferenceServerClient(thread.url), queue.SimpleQueue()
        client.start_stream(lambda result, error: answers.put((result, error)))
        for index in range(100):
            client.async_stream_infer(
                "sums",
                given(triton, (index + 1) * ONES),
                sequence_id=5,
                sequence_start=index == 0,
                sequence_end=index == 99,
            )
        found = [answers.get(timeout=WAIT_S) for _ in range(100)]
        client.stop_stream()
    assert not any(error for _, error in found)
    sums = [int(result.as_numpy("total")[0, 0]) for result, _ in found]
    assert sums == [10 + n * (n + 1) // 2 for n in range(1, 101)]


def test_what_is_wrong_is_said_and_leaves_the_sequence_as_it_was(tmp_path):
    with served(tmp_path) as thread:
        client = triton.InferenceServerClient(thread.url)
        assert total(client, 3, sequence_start=True) == 11
        for name, array, says in (
            (0, ONES, "a query needs 'sequence_id', not 0"),
            ("word", ONES, "'word' is no int64, as the model takes it"),
            (3, np.ones((2, 2), np.float32), "of one row, not of 2"),
            (3, np.ones((1, 3), np.float32), "expected shape"),
            (4, ONES, "its first query needs 'sequence_start'"),
        ):
            with pytest.raises(triton.InferenceServerException, match=says):
                ask(client, name, array)
        assert total(client, 3) == 12
        inputs = [i.name for i in client.get_model_metadata("sums").inputs]
        assert inputs == ["x"], "control inputs and states are the server's"


def test_a_warm_up_is_a_sequence_by_itself(tmp_path):
    warm_up = """
    model_warmup { name: "one" batch_size: 1 count: 2
      inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2 ] random_data: true } } }
    """
    with served(tmp_path, config=CONFIG + warm_up) as thread:
        assert thread.server.plane.models.find("sums").executor.failure == ""
        client = triton.InferenceServerClient(thread.url)
        assert client.is_model_ready("sums")
        with pytest.raises(triton.InferenceServerException, match="has not begun"):
            ask(client, 1)


def test_a_step_of_an_ensemble_has_the_sequence_of_its_query(tmp_path):
    repository(tmp_path / "models")
    (tmp_path / "models" / "whole").mkdir()
    (tmp_path / "models" / "whole" / "config.pbtxt").write_text("""
    platform: "ensemble"
    max_batch_size: 8
    input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
    output [ { name: "all" data_type: TYPE_FP32 dims: [ 2 ] } ]
    ensemble_scheduling { step [ {
      model_name: "sums" model_version: -1
      input_map { key: "x" value: "x" } output_map { key: "total" value: "all" }
    } ] }
    """)
    thread = served_repository(tmp_path / "models", tmp_path / "cache")
    try:
        client = triton.InferenceServerClient(thread.url)
        asked = [
            client.infer("whole", given(triton), sequence_id=1, sequence_start=index == 0)
            for index in range(3)
        ]
    finally:
        thread.stop()
    assert [answer.as_numpy("all")[0, 0] for answer in asked] == [11, 12, 13]


def test_states_without_a_batch_dimension_and_by_strings(tmp_path):
    """As they are of models whose shapes are whole; zeros, where nothing else is written."""
    model = """
    <ir_version: 8, opset_import: ["" : 13]>
    grows (float[1] x, float[M] before) => (float[K] after)
    { after = Concat <axis = 0> (before, x) }
    """
    state = 'input_name: "before" output_name: "after" data_type: TYPE_FP32 dims: [ -1 ]'
    initial = "initial_state { data_type: TYPE_FP32 dims: [ 0 ] zero_data: true }"
    config = f"""
    output [ {{ name: "after" data_type: TYPE_FP32 dims: [ -1 ] }} ]
    sequence_batching {{ oldest {{ max_candidate_sequences: 2 }} state {{ {state} {initial} }} }}
    """
    folder = repository(tmp_path / "models", config)
    onnx.save(onnx.parser.parse_model(model), folder / "1" / "model.onnx")
    thread = served_repository(tmp_path / "models", tmp_path / "cache")
    try:
        client = triton.InferenceServerClient(thread.url)
        one = np.ones(1, np.float32)
        for count in (1, 2, 3):
            found = ask(client, "long", count * one, sequence_start=count == 1)
        assert found.as_numpy("after").tolist() == [1, 2, 3]
    finally:
        thread.stop()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"start" control', '"begin" control'), r"control_input\[0\].name: 'begin' must be one"),
        (("[ 0, 1 ]", "[ 0 ]"), r"control_input\[0\].control\[0\]: needs two values"),
        (("fp32_false_true", "int32_false_true"), r"is INT32, but 'start' is FP32"),
        (("TYPE_INT64", "TYPE_STRING"), r"data_type: is BYTES; an id is one of"),
        (("CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64",
          "CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ]"), "is FP32, but 'id' is INT64"),
        (('"before"', '"earlier"'), r"state\[0\].input_name: the model has no input 'earlier'"),
        (("dims: [ 2 ]", "dims: [ 3 ]"), r"state\[0\].dims: is \[3\], but 'before'"),
        (('dims: [ 2 ] data_file', 'dims: [ -2 ] data_file'), r"\[-2\] is no shape of the state's"),
        (('"tens" }', '"none" }'), r"data_file: .*none: No such file"),
        (('"tens" }', '"../config.pbtxt" }'), "is not within"),
    ],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_names_file_line_and_field(tmp_path, change, says):
    folder = repository(tmp_path, CONFIG.replace(*change, 1))
    (entry,) = read_entries(folder, "sums")
    with pytest.raises(ConfigError, match=says) as error:
        loaded(entry, LoadParams(devices="cpu:1", cache=tmp_path / "cache"))
    assert f"{folder}/config.pbtxt:" in str(error.value)
