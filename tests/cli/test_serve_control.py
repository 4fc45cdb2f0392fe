"""``engine serve --model-control-mode`` as a process, and what it refuses to start with."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton

from surplus import models
from tests.cli.calls import Command
from tests.cli.test_serve import _infer, _served, _stop


@pytest.fixture
def repository(cli_folder: Path, tmp_path: Path) -> Path:
    for name in ("one", "two"):
        version = tmp_path / "repository" / name / "1"
        version.mkdir(parents=True)
        shutil.copy(cli_folder / "lenet.onnx", version / "model.onnx")
    return tmp_path / "repository"


def test_clients_load_what_was_not_loaded_at_the_start(cli_folder: Path, repository: Path) -> None:
    image = models.example_inputs("lenet")["image"]
    repository.joinpath("one", "config.pbtxt").write_text("optimization { cuda { graphs: true } }")
    words = (repository, "--model-control-mode", "explicit", "--load-model", "one")
    with _served(cli_folder / "cache", *words) as (process, address, _):
        first = _infer(address, "one", image)
        with triton.InferenceServerClient(address) as client:
            index = {row.name: row.state for row in client.get_model_repository_index().models}
            assert index == {"one": "READY", "two": ""}
            client.load_model("two")
        assert np.array_equal(_infer(address, "two", image), first)
        err = _stop(process)
    assert "config.pbtxt:1: optimization is not honoured" in err
    assert "two: serving version 1" in err


def test_models_take_turns_in_memory(cli_folder: Path, repository: Path) -> None:
    image = models.example_inputs("lenet")["image"]
    bytes_of_one = (repository / "one" / "1" / "model.onnx").stat().st_size
    words = (repository, "--model-memory", f"{bytes_of_one + (64 << 20)}", "--devices", "cpu:1")
    with _served(cli_folder / "cache", *words) as (process, address, _):
        answers = [_infer(address, name, image) for name in ("one", "two", "one")]
        with triton.InferenceServerClient(address) as client:
            told = client.get_model_config("one").config.parameters
        assert int(told["memory_bytes"].string_value) >= bytes_of_one
        assert told["loads"].string_value in ("1", "2")
        err = _stop(process)
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    assert "was loaded for a query in" in err


def test_a_repository_may_fill_later(cli_folder: Path, repository: Path, tmp_path: Path) -> None:
    image = models.example_inputs("lenet")["image"]
    empty = tmp_path / "empty"
    empty.mkdir()
    words = (empty, "--model-control-mode", "poll", "--repository-poll-s", "0.05")
    with _served(cli_folder / "cache", *words, "--http-port", "0") as (process, address, second):
        assert second.startswith("HTTP: ")  # there is no query to suggest
        shutil.copytree(repository / "one", empty / "one")
        with triton.InferenceServerClient(address) as client:
            while not client.is_model_ready("one"):
                client.is_server_ready()
        assert _infer(address, "one", image).shape == (1, 10)
        _stop(process)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--load-model", "one"], "--load-model is for --model-control-mode explicit, not none"),
        (["--repository-poll-s", "3"], "--repository-poll-s is for --model-control-mode poll"),
        (
            ["--model-control-mode", "poll", "--repository-poll-s", "0"],
            "--repository-poll-s is 0, must be a number above 0",
        ),
        (
            ["--model-control-mode", "explicit", "--load-model", "three"],
            "--load-model three: there is no such model; there are: one, two",
        ),
        (["--model-memory", "1GiB", "--isolate"], "--model-memory and --isolate"),
        (
            ["--model-memory", "1GiB", "--memory-limit", "500MiB"],
            "--model-memory 1GiB is more than --memory-limit 500MiB",
        ),
        (["--model-memory", "much"], "size 'much' is not understood"),
        (["--model-control-mode", "poll", "--isolate"], "--model-control-mode poll and --isolate"),
        (
            ["--model-control-mode", "poll", "--policy", "edf_drop", "--slo", "one=1s"],
            "policy 'edf_drop' plans for the models of the start",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    engine: Command, repository: Path, words: list[str], why: str
) -> None:
    called = engine("serve", repository, *words)
    assert called.is_one_clear_line()
    assert why in called.err


ENSEMBLE = """
platform: "ensemble"
input [ { name: "image" data_type: TYPE_FP32 dims: [ 1, 1, 28, 28 ] } ]
output [ { name: "NAME" data_type: TYPE_FP32 dims: [ 1, 10 ] } ]
ensemble_scheduling { step [ { model_name: "one" model_version: -1
  input_map { key: "image" value: "image" } output_map { key: "NAME" value: "NAME" } } ] }
"""


def with_ensemble(repository: Path) -> Path:
    name = onnx.load(repository / "one" / "1" / "model.onnx").graph.output[0].name
    repository.joinpath("whole").mkdir()
    repository.joinpath("whole", "config.pbtxt").write_text(ENSEMBLE.replace("NAME", name))
    return repository


def test_steps_are_loaded_with_their_ensemble(cli_folder: Path, repository: Path) -> None:
    image = models.example_inputs("lenet")["image"]
    words = ("--model-control-mode", "explicit", "--load-model", "whole")
    with _served(cli_folder / "cache", with_ensemble(repository), *words) as (process, address, _):
        with triton.InferenceServerClient(address) as client:
            index = {row.name: row.state for row in client.get_model_repository_index().models}
        assert index == {"one": "READY", "two": "", "whole": "READY"}
        assert np.array_equal(_infer(address, "whole", image), _infer(address, "one", image))
        _stop(process)


def test_a_policy_serves_no_ensemble(engine: Command, repository: Path) -> None:
    words = ("--policy", "edf_drop", "--slo", "one=1s")
    called = engine("serve", with_ensemble(repository), *words)
    assert called.is_one_clear_line()
    assert "config.pbtxt:5: ensemble_scheduling: --policy edf_drop serves models of " in called.err


def test_a_policy_says_which_fields_it_overrules(
    engine: Command, repository: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = repository / "one" / "config.pbtxt"
    config.write_text("dynamic_batching { }\noptimization { }\n")
    words = ("--policy", "edf_drop", "--slo", "one=1s", "--slo", "two=1s")
    called = engine("serve", repository, *words, "--host", "203.0.113.1")  # of documents alone
    assert "cannot listen on 203.0.113.1" in called.err
    assert f"{config}:1: dynamic_batching is not honoured under --policy edf_drop" in caplog.text
    assert f"{config}:2: optimization is not honoured" in caplog.text
