"""What configurations say of models under a policy: honoured, or warned of by name."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from surplus.colocation.profiles.measured_profile import MeasuredModel, MeasuredProfile
from surplus.engine.cli.policy_load import PolicyLoad
from surplus.engine.errors import ConfigError
from surplus.engine.repository.layout import find_models, read_entries
from surplus.engine.repository.under_policy import (
    require_servable,
    row_limits,
    warn_of_overruled,
)
from surplus.engine.scheduling.policy_params import PolicyParams
from surplus.engine.scheduling.served_by_policy import ServedByPolicy
from surplus.engine.serving.server_params import ServerParams
from tests.repository.quick_start import save, scaled
from tests.serving.fakes import ServerThread
from tests.serving.sequences.accumulator import repository as sequences_in

ONES = np.ones((1, 4), np.float32)
DIMS = 'max_batch_size: 2\ninput { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }\n'
SHOWN = 'output { name: "OUTPUT0" }\n'
HOUR_NS = 3600 * 10**9


def put(root, config, name="net", versions=("1",)):
    for version in versions:
        save(scaled(2), root / name / version / "model.onnx")
    root.joinpath(name, "config.pbtxt").write_text(config)


@contextmanager
def served(root, folder):
    """The models of a repository under a policy, as ``engine serve`` makes them ready."""
    entries = find_models(root)
    names = [entry.name for entry in entries]
    one = MeasuredModel(1, (1, 4), {"100": (1.0, 1.0)}, (0.0, 0.0))
    (folder / "profile.json").write_text(
        MeasuredProfile("cpu:1", dict.fromkeys(names, one), {}).to_json()
    )
    policy = PolicyParams(
        "edf",
        dict.fromkeys(names, HOUR_NS),
        devices="cpu:1",
        most_items=4,
        row_limits=row_limits({entry.name: entry.config for entry in entries}),
        profile=folder / "profile.json",
        cache=folder / "cache",
        tune="",
    )
    thread = ServerThread(ServerParams(grpc_port=0, http_port=0, response_cache_bytes=1 << 20))
    load = PolicyLoad(policy)
    try:
        models = thread.server.plane.models
        found = [(entry, thread.call(models.add, entry.name, entry.version)) for entry in entries]
        thread.run(load(thread.server, found))
        with triton.InferenceServerClient(thread.url) as client:
            yield client
    finally:
        thread.run(thread.server.stop())
        thread.call(load.__exit__)
        thread.end()


def asked(client, array=ONES, name="INPUT0", model="net", **options):
    given = triton.InferInput(name, list(array.shape), "FP32")
    given.set_data_from_numpy(array)
    return client.infer(model, [given], **options)


def test_answers_are_kept(tmp_path):
    put(tmp_path / "models", DIMS + SHOWN + "response_cache { enable: true }")
    with served(tmp_path / "models", tmp_path) as client:
        for _ in range(2):
            assert (asked(client).as_numpy("OUTPUT0") == 2).all()
        (row,) = client.get_inference_statistics("net").model_stats
        assert (row.inference_count, row.inference_stats.success.count) == (1, 2)
        assert (row.inference_stats.cache_hit.count, row.inference_stats.cache_miss.count) == (1, 1)


def test_sequences_keep_their_states(tmp_path):
    sequences_in(tmp_path / "models")
    one = np.ones((1, 2), np.float32)
    with served(tmp_path / "models", tmp_path) as client:
        sums = []
        for name, starts in ((7, True), (8, True), (7, False), (7, False), (8, False)):
            answer = asked(client, one, "x", "sums", sequence_id=name, sequence_start=starts)
            sums.append(float(answer.as_numpy("total")[0, 0]))
            assert answer.as_numpy("seen").tolist() == [[name]]
        assert sums == [11, 11, 12, 13, 12]
        with pytest.raises(InferenceServerException, match="asked in sequences"):
            asked(client, one, "x", "sums")


def test_tensors_are_shown_as_they_are_configured(tmp_path):
    dims = "dims: [ 2, 2 ] reshape { shape: [ 4 ] }"
    put(tmp_path / "models", DIMS.replace("dims: [ 4 ]", dims) + SHOWN)
    with served(tmp_path / "models", tmp_path) as client:
        metadata = client.get_model_metadata("net")
        assert [list(spec.shape) for spec in metadata.inputs] == [[-1, 2, 2]]
        assert [spec.name for spec in metadata.outputs] == ["OUTPUT0"]
        assert (asked(client, ONES.reshape(1, 2, 2)).as_numpy("OUTPUT0") == 2).all()
        with pytest.raises(InferenceServerException, match="3 rows; 1 to 2 are served"):
            asked(client, np.ones((3, 2, 2), np.float32))


def test_where_there_is_no_batch_queries_are_of_any_size(tmp_path):
    put(tmp_path / "models", "max_batch_size: 0")
    with served(tmp_path / "models", tmp_path) as client:
        assert (asked(client, np.ones((9, 4), np.float32)).as_numpy("OUTPUT0") == 2).all()


WARM_UP = (
    'model_warmup { name: "fives" count: 3 batch_size: 1 inputs { key: "INPUT0" value {'
    ' data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "FILE" } } }'
)


def test_warm_ups_are_asked_before_it_is_ready(tmp_path, monkeypatch):
    sums, infer = [], ServedByPolicy.infer

    async def noting(self, inputs, *rest):
        sums.append(float(inputs["INPUT0"].sum()))
        return await infer(self, inputs, *rest)

    monkeypatch.setattr(ServedByPolicy, "infer", noting)
    put(tmp_path / "models", DIMS + SHOWN + WARM_UP.replace("FILE", "fives"))
    (tmp_path / "models" / "net" / "warmup").mkdir()
    np.full((1, 4), 5, np.float32).tofile(tmp_path / "models" / "net" / "warmup" / "fives")
    with served(tmp_path / "models", tmp_path) as client:
        assert client.is_model_ready("net")
        assert sums == [20, 20, 20]


def test_what_contradicts_a_model_is_refused_at_the_start(tmp_path):
    put(tmp_path / "models", DIMS.replace("dims: [ 4 ]", "dims: [ 5 ]"))
    with (
        pytest.raises(ConfigError, match=r"config.pbtxt:2: input\[0\].dims: is \[5\]"),
        served(tmp_path / "models", tmp_path),
    ):
        pass


def test_what_a_policy_decides_itself_is_warned_of_by_name(tmp_path, caplog):
    text = "dynamic_batching { }\ninstance_group { count: 2 }\nversion_policy { all { } }\n"
    put(tmp_path, text, versions=("1", "2", "10"))
    put(tmp_path, DIMS, "plain")
    entries = [*read_entries(tmp_path / "net", "net"), *read_entries(tmp_path / "plain", "plain")]
    with caplog.at_level(logging.WARNING):
        warn_of_overruled(entries, "edf")
    file = tmp_path / "net" / "config.pbtxt"
    where = "is not honoured under --policy edf:"
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}:1: dynamic_batching {where} it says itself which queries run together, and when",
        f"{file}:2: instance_group {where} it divides the server's devices among all models",
        f"{file}:3: version_policy {where} it serves the newest version, 10, and not 1, 2",
    ]


def test_a_model_that_cannot_be_served_is_named(tmp_path):
    put(tmp_path, 'backend: "python"')
    with pytest.raises(ConfigError, match=r"config.pbtxt:1: backend: 'python' is not served"):
        require_servable(read_entries(tmp_path / "net", "net"), "edf")
