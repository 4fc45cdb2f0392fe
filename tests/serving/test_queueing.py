"""A model's ``dynamic_batching`` and ``instance_group.count``, as clients see them."""

from __future__ import annotations

import queue
import time
from contextlib import contextmanager

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from surplus.engine.repository.model_config import parse_config
from surplus.engine.runtime.queueing import LevelQueue, Queueing
from surplus.engine.serving.configured_queueing import (
    batch_limit_for,
    max_batch_for,
    queueing_for,
)
from surplus.engine.serving.server_params import FrontEnd
from tests.loops import COUNT, ENDLESS, counted
from tests.repository.quick_start import save, scaled
from tests.repository.serving_repositories import served_repository
from tests.serving.fakes import tensor

ONE_CALL = "instance_group [ { kind: KIND_CPU count: 1 } ]\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def front_end(request):
    return request.param


class Asked:
    """A query that a client waits for."""

    def __init__(self, client, model, inputs, **options):
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        self._call = client.async_infer(
            model, inputs, lambda result, error: self._answers.put(error or result), **options
        )

    def answer(self):
        return self._answers.get(timeout=60)

    def cancel(self):
        self._call.cancel()
        self.answer()


class Counting:
    """A model that counts for as long as a query says, behind a configuration."""

    def __init__(self, thread, client):
        self._thread = thread
        self._client = client
        self._endless: list[Asked] = []

    def ask(self, trips, priority=0):
        x = counted(trips)
        inputs = [tensor("n", x["n"], "INT64"), tensor("x", x["x"], "INT64")]
        asked = Asked(self._client, "count", inputs, priority=priority)
        if trips == ENDLESS:
            self._endless.append(asked)
        return asked

    def wait_until_in_flight(self, queries):
        model = self._thread.server.plane.models.find("count")
        until = time.monotonic() + 60
        while model.in_flight != queries:
            assert time.monotonic() < until, model.in_flight

    def end(self):
        for asked in self._endless:
            asked.cancel()


@contextmanager
def counting(root, cache, front_end, config):
    model = onnx.parser.parse_model(COUNT.replace("count (", "count_graph (", 1))
    save(model, root / "count" / "1" / "model.onnx")
    root.joinpath("count", "config.pbtxt").write_text(ONE_CALL + config)
    thread = served_repository(root, cache, front_end)
    try:
        with triton.InferenceServerClient(thread.url) as client:
            model = Counting(thread, client)
            yield model
            model.end()
    finally:
        thread.stop()


def test_a_full_queue_is_unavailable(tmp_path, cache, front_end):
    policy = "dynamic_batching { default_queue_policy { max_queue_size: 1 } }"
    with counting(tmp_path, cache, front_end, policy) as model:
        model.ask(ENDLESS)
        model.wait_until_in_flight(1)
        waiting = model.ask(ENDLESS)
        model.wait_until_in_flight(2)
        error = model.ask(1).answer()
        assert isinstance(error, InferenceServerException), error
        assert error.status() == "StatusCode.UNAVAILABLE"
        assert "Exceeds maximum queue size" in error.message()
        assert waiting is not None


def test_who_waits_for_too_long_is_unavailable(tmp_path, cache, front_end):
    policy = "dynamic_batching { default_queue_policy { default_timeout_microseconds: 1000 } }"
    with counting(tmp_path, cache, front_end, policy) as model:
        model.ask(ENDLESS)
        model.wait_until_in_flight(1)
        error = model.ask(1).answer()
        assert error.status() == "StatusCode.UNAVAILABLE"
        assert "Request timeout expired" in error.message()


def test_urgent_queries_of_a_model_go_first(tmp_path, cache, front_end):
    policy = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"
    with counting(tmp_path, cache, front_end, policy) as model:
        first = model.ask(ENDLESS)
        model.wait_until_in_flight(1)
        later = model.ask(ENDLESS)
        model.wait_until_in_flight(2)
        urgent = model.ask(3, priority=1)
        model.wait_until_in_flight(3)
        first.cancel()
        assert urgent.answer().as_numpy("y") == [3]
        later.cancel()
        model._endless.clear()


def test_a_query_waits_for_others_and_is_answered_with_them(tmp_path, cache, front_end):
    save(scaled(2), tmp_path / "twice" / "1" / "model.onnx")
    tmp_path.joinpath("twice", "config.pbtxt").write_text(
        "max_batch_size: 4 output { name: 'OUTPUT0' }"
        "dynamic_batching { preferred_batch_size: 2 max_queue_delay_microseconds: 60000000 }"
    )
    thread = served_repository(tmp_path, cache, front_end)
    try:
        with triton.InferenceServerClient(thread.url) as client:
            facts = client.get_model_config("twice").config.parameters
            if "up to" not in facts["batches"].string_value:
                pytest.skip("rows of this model gain nothing here")
            rows = [np.full((1, 4), number, np.float32) for number in (1, 2)]
            asked = [Asked(client, "twice", [tensor("INPUT0", row, "FP32")]) for row in rows]
            for one, row in zip(asked, rows, strict=True):
                assert (one.answer().as_numpy("OUTPUT0") == 2 * row).all()
            (statistics,) = client.get_inference_statistics("twice").model_stats
            assert (statistics.inference_count, statistics.execution_count) == (2, 1)
    finally:
        thread.stop()


def parsed(tmp_path, text):
    return parse_config(text, tmp_path / "config.pbtxt", "net")


def test_nothing_written_leaves_it_to_the_lanes(tmp_path):
    assert queueing_for(parsed(tmp_path, "")) is None
    assert max_batch_for(parsed(tmp_path, "max_batch_size: 8"), None) is None


def test_what_is_written_bounds_batches_that_form_by_themselves(tmp_path):
    written = {"max_batch_size: 8": 8, "max_batch_size: 0": 0, "": None}
    for text, most in written.items():
        assert batch_limit_for(parsed(tmp_path, text)) == most
    assert batch_limit_for(None) is None


def test_counts_of_groups_are_added(tmp_path):
    text = (
        "instance_group [ { count: 2 kind: KIND_CPU }, { count: 3 kind: KIND_GPU gpus: [0, 1] } ]"
    )
    assert queueing_for(parsed(tmp_path, text)) == Queueing(calls=8)


def test_every_level_has_its_policy(tmp_path):
    config = parsed(
        tmp_path,
        "max_batch_size: 6 dynamic_batching { priority_levels: 3 default_priority_level: 2"
        " preferred_batch_size: [ 4, 2 ] max_queue_delay_microseconds: 7"
        " default_queue_policy { max_queue_size: 9 }"
        " priority_queue_policy { key: 3 value { timeout_action: DELAY"
        " default_timeout_microseconds: 5 } } }",
    )
    usual = LevelQueue(9, 0, False)
    assert queueing_for(config) == Queueing(
        preferred_rows=(2, 4),
        delay_ns=7_000,
        usual_level=2,
        levels=(usual, usual, LevelQueue(0, 5_000, True)),
    )
    assert max_batch_for(config, None) == 6
    assert max_batch_for(config, 2) == 2


def test_batches_without_a_size_are_of_tritons_default(tmp_path):
    assert max_batch_for(parsed(tmp_path, "dynamic_batching {}"), None) == 4


def test_times_that_the_core_cannot_count_are_for_ever(tmp_path):
    text = f"dynamic_batching {{ max_queue_delay_microseconds: {2**64 - 1} }}"
    queueing = queueing_for(parsed(tmp_path, text))
    assert queueing is not None
    queueing.room()
