"""Models come, change and go while queries are answered."""

from __future__ import annotations

import json
import threading

import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from surplus.engine.repository.model_config import parse_config
from surplus.engine.serving.server_params import FrontEnd
from tests.repository.quick_start import scaled
from tests.repository.serving_repositories import ask
from tests.serving.fakes import ask_async, identity, tensor
from tests.serving.live_server import ROWS, live_server

READY, GONE = ("READY", ""), ("UNAVAILABLE", "unloaded")
ALL = 'max_batch_size: 8 output { name: "OUTPUT0" } version_policy { all {} }'


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def live(request, tmp_path, cache):
    with live_server(tmp_path, cache, request.param) as live:
        yield live


def test_a_client_loads_and_unloads(live):
    live.put("a", 2)
    live.put("b", 3)
    assert live.index() == {("a", ""): ("", ""), ("b", ""): ("", "")}
    live.client.load_model("a")
    assert live.index() == {("a", "1"): READY, ("b", ""): ("", "")}
    assert live.factor("a") == 2
    live.client.unload_model("a")
    assert live.index()["a", "1"] == GONE
    with pytest.raises(InferenceServerException, match="unloaded"):
        live.factor("a")
    assert live.client.is_server_ready()
    live.client.load_model("a")
    assert live.factor("a") == 2


def test_over_rest_too(live):
    live.put("a", 2)
    with triton_http.InferenceServerClient(live.thread.http_url) as client:
        client.load_model("a")
        assert live.factor("a") == 2
        config = json.dumps({"max_batch_size": 4})
        files = {"file:7/model.onnx": scaled(5).SerializeToString()}
        client.load_model("a", config=config, files=files)
        assert client.get_model_config("a")["max_batch_size"] == 4
        client.unload_model("a")
        states = {row["version"]: row["state"] for row in client.get_model_repository_index()}
    assert states == {"1": "UNAVAILABLE", "7": "UNAVAILABLE"}


def test_a_load_reads_files_that_have_changed_and_no_others(live):
    live.put("a", 2)
    live.client.load_model("a")
    before = live.thread.server.plane.models.find("a").loaded
    live.client.load_model("a")
    assert live.thread.server.plane.models.find("a").loaded is before
    live.put("a", 4)
    live.client.load_model("a")
    assert live.factor("a") == 4


def test_a_new_version_takes_the_place_of_the_one_before(live):
    live.put("a", 2)
    live.client.load_model("a")
    live.put("a", 6, version=2)
    live.client.load_model("a")
    assert live.index() == {("a", "1"): GONE, ("a", "2"): READY}
    assert live.factor("a") == 6
    live.put("a", 6, version=2, config=ALL)
    live.client.load_model("a")
    assert live.index() == {("a", "1"): READY, ("a", "2"): READY}


BROKEN = [
    ("config.pbtxt", b"max_batch_size: 8\nno_such: 1", "config.pbtxt:2:1: "),
    ("config.pbtxt", b'input { name: "z" }', "config.pbtxt:1: input[0].name: the model has no"),
    ("1/model.onnx", b"nothing", "not an ONNX model"),
]


@pytest.mark.parametrize(("file", "content", "why"), BROKEN)
def test_a_load_that_fails_leaves_all_as_it_was(live, file, content, why):
    live.put("a", 2)
    live.put("b", 3)
    live.client.load_model("a")
    live.root.joinpath("a", file).write_bytes(content)
    with pytest.raises(InferenceServerException) as error:
        live.client.load_model("a")
    assert why in str(error.value)
    assert str(live.root) not in str(error.value)  # clients are not told where files lie
    state, reason = live.index()["a", "1"]
    assert state == "READY"
    assert reason.startswith("newer files of it are not served: ")
    assert why in reason
    assert live.factor("a") == 2
    live.client.load_model("b")
    live.put("a", 5)
    live.client.load_model("a")
    assert live.index() == {("a", "1"): READY, ("b", "1"): READY}
    assert live.factor("a") == 5


def test_a_first_load_that_fails_says_why(live):
    live.put("a", 2)
    live.root.joinpath("a", "1", "model.onnx").unlink()
    with pytest.raises(InferenceServerException, match=r"no model.onnx in it"):
        live.client.load_model("a")
    state, reason = live.index()["a", "1"]
    assert (state, "no model.onnx in it" in reason) == ("UNAVAILABLE", True)
    assert not live.client.is_server_ready()
    live.put("a", 2)
    live.client.load_model("a")
    assert live.factor("a") == 2


def test_what_is_not_there_cannot_be_loaded(live):
    with pytest.raises(InferenceServerException, match="unknown model 'none'") as error:
        live.client.load_model("none")
    assert error.value.status() == "StatusCode.NOT_FOUND"
    with pytest.raises(InferenceServerException, match="unknown model 'none'"):
        live.client.unload_model("none")


def test_a_client_overrides_the_configuration(live):
    live.put("a", 2)
    live.client.load_model("a", config='{"maxBatchSize": 2, "parameters": {}}')
    assert live.client.get_model_config("a").config.max_batch_size == 2
    assert live.factor("a") == 2
    live.client.load_model("a")  # as its folder has it
    assert live.client.get_model_config("a").config.max_batch_size == 8


def test_a_client_brings_the_files(live):
    files = {"file:3/model.onnx": scaled(7).SerializeToString()}
    live.client.load_model("new", config='{"max_batch_size": 8}', files=files)
    assert live.factor("new") == 7
    kept = live.repository._overridden["new"].entries[0].path
    assert kept.is_file()
    live.client.unload_model("new")
    assert not kept.exists()


@pytest.mark.parametrize(
    ("config", "files", "why"),
    [
        ("{", {}, "parameter 'config' of model 'a'"),
        ('{"nothing": 1}', {}, 'no field named "nothing"'),
        ('{"backend": "python"}', {}, "backend: 'python' is not served"),
        (
            '{"modelOperations": {"opLibraryFilename": ["lib.so"]}}',
            {"file:1/model.onnx": b"", "file:lib.so": b"\x7fELF"},
            "model_operations.op_library_filename[0]: is for the repository's files alone",
        ),
        (
            '{"platform": "ensemble", "ensembleScheduling": {}}',
            {"file:1/model.onnx": b""},
            "ensemble_scheduling: its steps are in the repository",
        ),
        ("{}", {"file:../1/model.onnx": b""}, "no path within the model's folder"),
        ("{}", {"file:1/model.onnx": b"nothing"}, "not an ONNX model"),
        ("{}", {"file:model.onnx": b""}, "no version in it"),
    ],
)
def test_a_wrong_override_changes_nothing(live, config, files, why):
    live.put("a", 2)
    live.client.load_model("a")
    with pytest.raises(InferenceServerException) as error:
        live.client.load_model("a", config=config, files=files)
    assert why in str(error.value)
    assert live.factor("a") == 2


def test_an_ensemble_goes_with_what_it_is_made_of(live):
    for name in ("one", "two", "other"):
        live.put(name, 2)
        live.client.load_model(name)
    steps = "".join(f"step {{ model_name: '{name}' }}\n" for name in ("one", "two"))
    text = f"platform: 'ensemble' ensemble_scheduling {{ {steps} }}"
    whole = identity()
    whole.config = parse_config(text, live.root / "config.pbtxt", "whole")
    live.thread.serve("whole", whole)
    live.client.unload_model("whole", unload_dependents=True)
    states = {name: state for (name, _), (state, _) in live.index().items()}
    gone = "UNAVAILABLE"
    assert states == {"one": gone, "two": gone, "other": "READY", "whole": gone}
    while not whole.closed:
        assert live.client.is_server_live()


def test_polling_follows_the_files(live):
    live.put("a", 2)
    live.thread.run(live.polling.look())
    assert live.index() == {("a", ""): ("", "")}  # it may still be being written
    live.look()
    assert live.factor("a") == 2
    live.put("a", 3)
    live.put("b", 4)
    live.look()
    assert (live.factor("a"), live.factor("b")) == (3, 4)
    live.root.joinpath("b", "config.pbtxt").write_text("max_batch_size: many")
    live.look()
    assert live.factor("b") == 4
    assert "config.pbtxt:1:17: " in live.index()["b", "1"][1]
    for path in (live.root / "a").rglob("*.*"):
        path.unlink()
    live.root.joinpath("a", "1").rmdir()
    live.root.joinpath("a").rmdir()
    live.look()
    assert live.index()["a", "1"] == GONE
    live.put("a", 9)
    live.look()
    assert live.factor("a") == 9


def test_no_query_fails_while_models_are_replaced(live):
    live.put("a", 2)
    live.client.load_model("a")
    seen, stop = set(), threading.Event()

    def query():
        with triton.InferenceServerClient(live.thread.url) as client:
            while not stop.is_set():
                seen.add(float(ask(client, "a", ROWS)[0, 1]))

    failures = []

    def guarded():
        try:
            query()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(3)]
    for thread in threads:
        thread.start()
    factors = range(3, 13)
    for factor in factors:
        live.put("a", factor, version=factor if factor % 2 else 1, config=ALL)
        live.client.load_model("a")
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(seen) > 1


def test_what_was_replaced_is_closed_when_its_last_query_is_answered(live):
    gate = live.thread.gate("slow")
    model = live.thread.server.plane.models.find("slow")
    given = tensor("x", ROWS[0], "FP32")
    answers = ask_async(live.client, "slow", [given])
    gate.entered.acquire()

    def replace():
        model.set_ready(identity())
        return model.take_idle()

    assert live.thread.call(replace) == []
    live.client.infer("slow", [given])  # by the new one
    live.thread.call(gate.open.set)
    live.client.infer("slow", [given])
    while not (idle := live.thread.call(model.take_idle)):
        live.client.infer("slow", [given])
    assert idle == [gate]
    assert answers.get()[1] is None
