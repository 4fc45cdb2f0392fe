"""Trace settings over both faces, of servers with and without spans."""

from contextlib import contextmanager

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from surplus.engine.serving.trace_settings import TraceSettings
from tests.serving.fakes import ServerThread, identity, tensor
from tests.serving.test_reports import RECORDED, Collector

SETTINGS = TraceSettings().values()


@pytest.fixture
def over_http(served):
    with tritonclient.http.InferenceServerClient(served.http_url) as client:
        yield client


def test_both_faces_tell_the_same(client, over_http):
    found = over_http.get_trace_settings("identity")
    told = client.get_trace_settings("identity").settings
    for name, values in SETTINGS.items():
        assert list(told[name].value) == list(values)
        assert found[name] in (list(values), values[0])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_can_be_cleared_and_set_to_what_it_is(client, over_http, name):
    for value in (None, list(SETTINGS[name])):
        client.update_trace_settings(settings={name: value})
        over_http.update_trace_settings(settings={name: value})


@pytest.mark.parametrize(
    ("settings", "codes", "message"),
    [
        (
            {"trace_rate": "5"},
            ("UNIMPLEMENTED", "501"),
            "'trace_rate' cannot become '5': this server",
        ),
        ({"trace_level": ["TIMESTAMPS", "TENSORS"]}, ("UNIMPLEMENTED", "501"), "writes no trace"),
        ({"trace_speed": "5"}, ("INVALID_ARGUMENT", "400"), "unknown trace setting 'trace_speed'"),
    ],
)
def test_others_are_refused_by_name(client, over_http, settings, codes, message):
    for asked, code in zip((client, over_http), codes, strict=True):
        with pytest.raises(InferenceServerException) as caught:
            asked.update_trace_settings(settings=settings)
        assert caught.value.status().removeprefix("StatusCode.") == code
        assert message in caught.value.message()


def test_values_that_are_no_text(over_http):
    with pytest.raises(InferenceServerException, match="a string or a list of strings"):
        over_http.update_trace_settings(settings={"trace_rate": 5})


def test_settings_of_an_unknown_model(client, over_http, fresh_name):
    for asked in (client, over_http):
        with pytest.raises(InferenceServerException) as caught:
            asked.get_trace_settings(fresh_name)
        assert caught.value.status() in ("StatusCode.NOT_FOUND", "404")


@contextmanager
def traced(collector, every=1, front_end=FrontEnd.NATIVE, logs=False):
    """Two clients of a server with spans, which it has sent at the block's end."""
    reports = ReportParams(collector.url, every, logs)
    thread = ServerThread(
        ServerParams(grpc_port=0, http_port=0, front_end=front_end, reports=reports)
    )
    try:
        thread.serve("identity", identity())
        with (
            tritonclient.grpc.InferenceServerClient(thread.url) as client,
            tritonclient.http.InferenceServerClient(thread.http_url) as rest,
        ):
            yield client, rest
    finally:
        thread.stop()


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.stop()


def ask(client, count=1, name="", **options):
    given = [tensor("x", np.ones(4, np.float32), "FP32")]
    for _ in range(count):
        client.infer("identity", given, request_id=name, **options)


def names(collector):
    """What the queries are called that became spans."""
    told = [
        {one.key: one.value.string_value for one in span.attributes} for span in collector.spans
    ]
    return [one.get("surplus.request_id") for one in told if "surplus.model" in one]


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_clients_turn_spans_off_and_on(collector, front_end):
    with traced(collector, front_end=front_end) as (client, rest):
        ask(client, name="before")
        told = rest.update_trace_settings(settings={"trace_level": ["OFF"]})
        assert (told["trace_level"], told["trace_mode"]) == (["OFF"], "opentelemetry")
        ask(client, name="off")
        ask(client, name="off", headers={"traceparent": RECORDED})
        client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
        assert rest.get_trace_settings()["trace_level"] == ["TIMESTAMPS"]
        ask(client, name="after")
    assert names(collector) == ["before", "after"]


def test_clients_choose_how_many_and_for_how_long(collector):
    with traced(collector) as (client, rest):
        told = rest.update_trace_settings(settings={"trace_rate": "3", "trace_count": "2"})
        assert (told["trace_rate"], told["trace_count"]) == ("3", "2")
        ask(client, 12)
    assert len(names(collector)) == 2, "of four, which one in three would be"


def test_what_is_cleared_is_as_at_the_start(collector):
    with traced(collector, every=7) as (client, rest):
        rest.update_trace_settings(settings={"trace_rate": "2", "trace_level": ["OFF"]})
        client.update_trace_settings(settings={"trace_rate": None, "trace_level": None})
        told = rest.get_trace_settings()
        assert (told["trace_rate"], told["trace_level"]) == ("7", ["TIMESTAMPS"])


@pytest.mark.parametrize(
    ("settings", "codes", "message"),
    [
        ({"trace_level": ["TENSORS"]}, ("UNIMPLEMENTED", "501"), "tensors are never told"),
        ({"trace_mode": "triton"}, ("UNIMPLEMENTED", "501"), "chosen at the start"),
        ({"trace_file": "/t.json"}, ("UNIMPLEMENTED", "501"), "clients do not choose files"),
        ({"log_frequency": "50"}, ("UNIMPLEMENTED", "501"), "spans are sent as they come"),
        ({"trace_rate": "0"}, ("INVALID_ARGUMENT", "400"), "must be a number from 1 to"),
        ({"trace_count": "-2"}, ("INVALID_ARGUMENT", "400"), "must be a number from -1 to"),
        ({"trace_count": "some"}, ("INVALID_ARGUMENT", "400"), "got 'some'"),
        ({"trace_rate": ["5", "6"]}, ("INVALID_ARGUMENT", "400"), "is one number, not 2"),
    ],
)
def test_what_does_not_map_is_refused_by_name_and_changes_nothing(
    collector, settings, codes, message
):
    with traced(collector) as clients:
        before = clients[1].get_trace_settings()
        for asked, code in zip(clients, codes, strict=True):
            with pytest.raises(InferenceServerException) as caught:
                asked.update_trace_settings(settings={"trace_rate": "9"} | settings)
            assert caught.value.status().removeprefix("StatusCode.") == code
            assert message in caught.value.message()
            assert next(iter(settings)) in caught.value.message()
        assert clients[1].get_trace_settings() == before


def test_a_model_has_no_settings_of_its_own(collector):
    with traced(collector) as clients:
        for asked in clients:
            with pytest.raises(InferenceServerException, match="they are the server's"):
                asked.update_trace_settings("identity", settings={"trace_rate": "9"})
            asked.update_trace_settings("identity", settings={"trace_level": ["TIMESTAMPS"]})


def test_lines_of_the_log_are_no_fewer_without_spans(collector, caplog):
    with traced(collector, every=2, logs=True) as (client, rest):
        rest.update_trace_settings(settings={"trace_level": ["OFF"]})
        ask(client, 4, "logged")
    assert names(collector) == []
    assert len([one for one in caplog.records if one.name.endswith("query_log")]) == 2
