"""Models in processes of their own: answered alike, and what ends one ends nothing else."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.isolation.served import (
    WAIT_S,
    ask,
    is_alive,
    kill,
    served,
    until,
    vector,
    write_model,
)
from tests.serving.sequences import accumulator


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    for name, operator in (("negated", "Neg"), ("rooted", "Sqrt"), ("whole", "Floor")):
        write_model(folder, name, operator)
    accumulator.repository(folder)
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["native", "python"])
def serving(repository, request):
    with served(repository, "--isolate", python_front=request.param) as server:
        yield server


def _answers(client, model: str, *values: float):
    try:
        return ask(client, model, *values)
    except InferenceServerException as error:
        if error.status() != "StatusCode.UNAVAILABLE":
            raise
        return None


def test_each_model_has_a_process(serving):
    processes = {serving.process_of(model) for model in ("negated", "rooted", "whole")}
    assert len(processes) == 3
    client = serving.client()
    assert ask(client, "negated", 1, 2) == [-1, -2]
    assert ask(client, "rooted", 4, 9) == [2, 3]
    asked = http.InferInput("x", [2], "FP32")
    asked.set_data_from_numpy(np.array([1.5, -0.5], np.float32))
    rest = http.InferenceServerClient(serving.http_address)
    assert rest.infer("whole", [asked]).as_numpy("y").tolist() == [1, -1]
    rest.close()


def test_a_sequence_has_its_state_in_the_models_process(serving):
    with http.InferenceServerClient(serving.http_address) as rest:
        for client, module in ((rest, http), (serving.client(), triton)):
            asked = module.InferInput("x", [1, 2], "FP32")
            asked.set_data_from_numpy(np.ones((1, 2), np.float32))
            begun = client.infer("sums", [asked], sequence_id=4, sequence_start=True)
            assert begun.as_numpy("total").tolist() == [[11, 11]]
            ended = client.infer("sums", [asked], sequence_id=4, sequence_end=True)
            assert ended.as_numpy("total").tolist() == [[12, 12]]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_ends_is_back_and_others_do_not_notice(serving, how):
    failed: list[Exception] = []
    over = threading.Event()

    def keep_asking() -> None:
        client = serving.client()
        try:
            while not over.is_set():
                assert ask(client, "rooted", 16) == [4]
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=keep_asking)
    thread.start()
    client = serving.client()
    before = serving.process_of("negated")
    kill(before, how)
    until(lambda: _answers(client, "negated", 5) == [-5])
    over.set()
    thread.join(WAIT_S)
    assert not failed
    assert serving.process_of("negated") != before
    serving.wait_for(f"negated: its process {before} was ended by {how.name}")


def test_queries_of_a_process_that_ends_are_unavailable(serving):
    client = serving.client()
    refused: list[str] = []
    large = [0.5] * 300_000

    def ask_on() -> None:
        try:
            while True:
                ask(serving.client(), "whole", *large)
        except InferenceServerException as error:
            refused.append(error.status())

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    before = serving.process_of("whole")
    until(lambda: client.get_inference_statistics("whole").model_stats[0].inference_count > 3)
    kill(before, signal.SIGKILL)
    for thread in threads:
        thread.join(WAIT_S)
    assert refused == ["StatusCode.UNAVAILABLE"] * 3
    until(lambda: _answers(client, "whole", 2.5) == [2])


def test_who_starts_processes_may_end_itself(serving):
    starter = int(Path(f"/proc/{serving.process_of('negated')}/stat").read_text().split()[3])
    kill(starter, signal.SIGKILL)
    client = serving.client()
    assert ask(client, "negated", 3) == [-3]
    kill(serving.process_of("negated"), signal.SIGKILL)
    until(lambda: _answers(client, "negated", 3) == [-3])


def test_statistics_count_queries_of_every_way(serving):
    client = serving.client()

    def count() -> int:
        return client.get_inference_statistics("rooted").model_stats[0].inference_count

    before = count()
    for _ in range(5):
        ask(client, "rooted", 1)
    client.infer("rooted", vector(1), compression_algorithm="gzip")
    assert count() == before + 6


def test_a_wrong_query_is_refused_in_the_models_words(serving):
    with pytest.raises(InferenceServerException) as caught:
        serving.client().infer("negated", [], timeout=0)
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert "'x'" in str(caught.value)


def test_a_deadline_that_passed_is_said(serving):
    with pytest.raises(InferenceServerException) as caught:
        serving.client().infer("negated", vector(1), timeout=1)  # a microsecond
    assert caught.value.status() in (
        "StatusCode.DEADLINE_EXCEEDED",
        "StatusCode.RESOURCE_EXHAUSTED",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_their_server(repository, number):
    with served(repository, "--isolate") as server:
        processes = [server.process_of(model) for model in ("negated", "rooted", "whole")]
        server.process.send_signal(number)
        assert server.process.wait(WAIT_S) == (0 if number == signal.SIGTERM else -number)
        for process in processes:
            until(lambda process=process: not is_alive(process))


def test_a_group_shares_a_process(repository):
    with served(repository, "--isolate", "both=negated,rooted") as server:
        assert server.process_of("negated") == server.process_of("rooted")
        assert server.process_of("whole") != server.process_of("rooted")
        assert ask(server.client(), "rooted", 25) == [5]


def test_a_model_that_cannot_be_loaded_leaves_the_others(tmp_path):
    write_model(tmp_path, "negated")
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "model.onnx").write_bytes(b"no model")
    with served(tmp_path, "--isolate") as server:
        client = server.client()
        assert ask(client, "negated", 1) == [-1]
        assert not client.is_model_ready("broken")
        with pytest.raises(InferenceServerException, match=r"broken.*model\.onnx"):
            ask(client, "broken", 1)


def test_a_lazy_model_is_loaded_by_its_first_query(repository):
    with served(repository, "--isolate", "--lazy") as server:
        assert ask(server.client(), "whole", 3.25) == [3]


def test_what_would_exceed_the_limit_of_all_is_refused(tmp_path):
    write_expander(tmp_path)
    with served(tmp_path, "--isolate", "--memory-limit", "600MiB") as server:
        client = server.client()
        assert np.array_equal(_expanded(client, 3), np.zeros(3, np.float32))
        with pytest.raises(InferenceServerException) as caught:
            _expanded(client, 400_000_000)
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        assert np.array_equal(_expanded(client, 5), np.zeros(5, np.float32))


def write_expander(folder: Path) -> None:
    """A model that answers as many zeros as it is asked for."""
    import onnx
    from onnx import TensorProto, helper

    n = helper.make_tensor_value_info("n", TensorProto.INT64, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph([helper.make_node("ConstantOfShape", ["n"], ["y"])], "e", [n], [y])
    version = folder / "expander" / "1"
    version.mkdir(parents=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, version / "model.onnx")


def _expanded(client, count: int) -> np.ndarray:
    import tritonclient.grpc as grpc

    asked = grpc.InferInput("n", [1], "INT64")
    asked.set_data_from_numpy(np.array([count], np.int64))
    return client.infer("expander", [asked]).as_numpy("y")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--isolate", "both"], "--isolate both: expected GROUP=MODEL,MODEL"),
        (["--isolate", "both=no"], "there is no model 'no', only negated, rooted, sums, whole"),
        (["--isolate", "a=whole", "--isolate", "b=whole"], "'whole' is in a group already"),
        (["--isolate", "--policy", "edf"], "--isolate keeps models apart"),
    ],
)
def test_what_cannot_be_isolated_is_said(repository, options, said):
    command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(repository)]
    slos = [word for m in ("negated", "rooted", "whole") for word in ("--slo", f"{m}=1s")]
    slos = slos if "--policy" in options else []
    done = subprocess.run([*command, *options, *slos], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert said in done.stderr
