"""More models than memory: those asked least recently rest, and queries wake them."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from surplus.engine.devices.machines import machine_for
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import find_models
from surplus.engine.serving import former_models, memory_budget
from surplus.engine.serving.live_loads import LiveLoads
from surplus.engine.serving.live_start import begin_budget
from surplus.engine.serving.server_params import FrontEnd
from tests.repository.quick_start import save, scaled
from tests.repository.serving_repositories import ask, server_params
from tests.serving.fakes import ServerThread

COUNT, ROOM = 8, 3
ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)
EACH_BYTES = 1 << 20
CONFIG = 'max_batch_size: 8\noutput { name: "OUTPUT0" }'


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for number in range(COUNT):
        folder = root / f"m{number}"
        save(scaled(float(number + 1)), folder / "1" / "model.onnx")
        folder.joinpath("config.pbtxt").write_text(CONFIG)
    return root


class Budgeted:
    """A server with room for some of its models, which take a MiB each as far as it can measure."""

    def __init__(self, root, cache, front_end=FrontEnd.AUTO, room=ROOM):
        self.thread = ServerThread(server_params(front_end))
        params = LoadParams(devices="cpu:1", cache=cache)
        self.loading = LiveLoads({}, params, lazy=False, memory_bytes=room * EACH_BYTES)
        self.budget = self.loading.budget
        self.thread.call(lambda: begin_budget(self.thread.server, self.budget))
        for entry in find_models(root):
            self.thread.serve(entry.name, self.loading(entry), entry.version)
        self.client = triton.InferenceServerClient(self.thread.url)

    def awake(self):
        """Names of the models that are loaded."""
        self.thread.call(lambda: self.budget.used_bytes)
        return sorted(model.name for model in self.budget._awake)

    def told(self, name):
        return {n: p.string_value for n, p in self.parameters(name).items()}

    def parameters(self, name):
        return self.client.get_model_config(name).config.parameters

    def close(self):
        self.client.close()
        self.thread.stop()


@pytest.fixture
def measured(monkeypatch):
    """Each load takes a MiB, since a test process holds too much else to measure so little."""
    held = iter(range(0, 1 << 40, EACH_BYTES))
    monkeypatch.setattr(memory_budget, "resident_bytes", lambda: next(held))


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def served(request, root, cache, measured):
    budgeted = Budgeted(root, cache, request.param)
    yield budgeted
    budgeted.close()


def test_models_are_loaded_by_use_and_rest_by_disuse(served):
    assert served.client.is_server_ready()
    assert served.awake() == []
    for number in range(COUNT):
        assert np.array_equal(ask(served.client, f"m{number}", ROWS), (number + 1) * ROWS)
        assert len(served.awake()) == min(number + 1, ROOM)
    assert served.awake() == ["m5", "m6", "m7"]
    ask(served.client, "m5", ROWS)  # so that m6 was asked least recently
    ask(served.client, "m0", ROWS)
    assert served.awake() == ["m0", "m5", "m7"]


def test_memory_is_given_back_for_models_that_held_some_alone(served, monkeypatch):
    given_back = threading.Event()
    monkeypatch.setattr(former_models, "_give_back", given_back.set)
    for number in range(ROOM):  # each takes the place of one at rest, which held nothing
        ask(served.client, f"m{number}", ROWS)
    assert not given_back.wait(0.1)
    ask(served.client, f"m{ROOM}", ROWS)
    assert given_back.wait(30)


def test_what_stays_is_passed_over_when_cycles_are_looked_for():
    gc.unfreeze()
    former_models.pass_over_what_is_here()  # so it is between tests, too
    assert gc.get_freeze_count() > len(gc.get_objects())


def test_what_it_took_is_told(served):
    for number in (0, 1, 2, 3, 0):
        ask(served.client, f"m{number}", ROWS)
    told = served.told("m0")
    assert (told["loads"], told["rests"]) == ("2", "1")
    assert told["memory_bytes"] == str(EACH_BYTES)
    assert float(told["last_load_ms"]) > 0
    assert served.told("m1")["memory_bytes"] == "0"
    assert "loads" not in served.told("m7")
    with triton_http.InferenceServerClient(served.thread.http_url) as client:
        (row,) = client.get_inference_statistics("m0")["model_stats"]
        assert row["memory_usage"] == [{"type": "CPU", "id": 0, "byte_size": EACH_BYTES}]
        assert row["inference_stats"]["success"]["count"] == 2
        (row,) = client.get_inference_statistics("m1")["model_stats"]
        assert row["memory_usage"] == []


def test_queries_of_all_models_at_once_are_all_answered(served):
    failures = []

    def ask_all(start):
        with triton.InferenceServerClient(served.thread.url) as client:
            for step in range(COUNT):
                number = (start + 3 * step) % COUNT
                try:
                    answer = ask(client, f"m{number}", ROWS)
                    assert np.array_equal(answer, (number + 1) * ROWS)
                except Exception as error:
                    failures.append(error)

    threads = [threading.Thread(target=ask_all, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(served.awake()) == ROOM


def test_a_deadline_holds_while_a_model_is_loaded(served, monkeypatch):
    released, load, loads = threading.Event(), served.budget._load, []

    def slow(entry):
        loads.append(entry.name)
        released.wait()
        return load(entry)

    monkeypatch.setattr(served.budget, "_load", slow)
    given = triton.InferInput("INPUT0", [2, 4], "FP32")
    given.set_data_from_numpy(ROWS)
    for _ in range(2):
        with pytest.raises(InferenceServerException, match="deadline passed"):
            served.client.infer("m0", [given], timeout=50_000)
    released.set()
    assert np.array_equal(ask(served.client, "m0", ROWS), ROWS)
    assert loads == ["m0"]  # for those who went away, too


def test_a_model_that_cannot_be_loaded_says_why_and_is_tried_again(served, root):
    file = root / "m0" / "1" / "model.onnx"
    content = file.read_bytes()
    file.unlink()
    try:
        with pytest.raises(InferenceServerException):
            ask(served.client, "m0", ROWS)
        (row,) = [r for r in served.client.get_model_repository_index().models if r.name == "m0"]
        assert (row.state, row.reason.startswith("not loaded: ")) == ("READY", True)
        ask(served.client, "m1", ROWS)
    finally:
        file.write_bytes(content)
    assert np.array_equal(ask(served.client, "m0", ROWS), ROWS)


def test_what_a_model_held_goes_though_its_last_queries_are_remembered(
    tmp_path, cache, measured, monkeypatch
):
    for name in ("first", "second"):  # tensors as they are: the front end answers by itself
        save(scaled(2.0), tmp_path / name / "1" / "model.onnx")
    machine = machine_for(LoadParams(devices="cpu:1").specs())
    given_back, give_back = threading.Event(), former_models._give_back
    monkeypatch.setattr(former_models, "_give_back", lambda: (give_back(), given_back.set()))
    served = Budgeted(tmp_path, cache, FrontEnd.NATIVE, room=1)

    def has_plan():
        rows = machine.flights()["plans"]
        return any(row["label"] == "first" and not row["is_gone"] for row in rows)

    try:
        for _ in range(3):
            ask(served.client, "first", ROWS)
        assert served.thread.server.plane.models.find("first").route is not None
        assert has_plan()
        ask(served.client, "second", ROWS)
        assert given_back.wait(30)
        assert not has_plan()  # whose sessions hold its weights
    finally:
        served.close()


def test_a_model_larger_than_the_budget_is_refused(root, cache, measured):
    served = Budgeted(root, cache, room=0.5)
    try:
        ask(served.client, "m0", ROWS)  # only now is it known what it takes
        ask(served.client, "m1", ROWS)
        with pytest.raises(InferenceServerException, match=r"more than --model-memory, 0\.5 MiB"):
            ask(served.client, "m0", ROWS)
        assert len(served.awake()) == 1
    finally:
        served.close()


def test_without_room_a_query_is_refused_in_the_end(root, cache, measured, monkeypatch):
    monkeypatch.setattr(memory_budget, "ROOM_S", 0.02)
    served = Budgeted(root, cache, room=1)
    try:
        ask(served.client, "m0", ROWS)
        model = served.thread.server.plane.models.find("m0")
        in_use = model.used()
        served.thread.call(in_use.__enter__)
        with pytest.raises(InferenceServerException, match="every other model has had queries"):
            ask(served.client, "m1", ROWS)
        served.thread.call(in_use.__exit__, None, None, None)
        assert np.array_equal(ask(served.client, "m1", ROWS), 2 * ROWS)
        assert served.awake() == ["m1"]
    finally:
        served.close()
