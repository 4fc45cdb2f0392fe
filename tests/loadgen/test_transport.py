"""Which client measures, and what it says of itself."""

from __future__ import annotations

import pytest

from surplus.loadgen import which_client
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.clients.grpc_request import framed, timeout_text
from surplus.loadgen.errors import TargetError
from surplus.loadgen.generator import Generator
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import summarise
from surplus.loadgen.table import render
from surplus.loadgen.transport import TlsParams, TransportParams
from surplus.loadgen.which_client import python_because


def _params(url="h:1", **transport):
    return MeasureParams(url, (AskedModel("m"),), transport=TransportParams(**transport))


@pytest.fixture(params=["there", "no library"])
def library(request, monkeypatch):
    reason = None if request.param == "there" else "no libnghttp2"
    monkeypatch.setattr(which_client, "http2_missing", lambda: reason)
    monkeypatch.setattr(which_client, "module_missing", lambda: None)
    return reason


def test_auto_is_native_where_that_can_be_used(library):
    assert python_because(_params()) == library


def test_an_address_that_only_the_python_client_knows_is_its(monkeypatch):
    monkeypatch.setattr(which_client, "http2_missing", lambda: None)
    assert "'unix:/s' is not host:port" in (python_because(_params("unix:/s")) or "")


def test_python_is_what_was_asked_for(library):
    assert python_because(_params(client="python")) == "asked for"


@pytest.mark.parametrize(
    ("asked", "what"),
    [({"client": "native"}, "it"), ({"threads": 2}, "threads"), ({"compares": True}, "comparing")],
)
def test_what_only_the_native_client_does_is_refused_without_it(library, asked, what):
    if library is None:
        assert python_because(_params(**asked)) is None
        return
    with pytest.raises(TargetError, match=f"no native client, and {what}.* asked for: {library}"):
        python_because(_params(**asked))


def test_http_needs_no_library(library):
    assert python_because(_params(protocol="http")) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"client": "rust"}, "unknown client 'rust'; there are: auto, native, python"),
        ({"protocol": "smtp"}, "unknown protocol 'smtp'; there are: grpc, http"),
        ({"connections": -1}, "connections must be >= 1, or 0 for as many as fit, got -1"),
        ({"threads": 0}, "threads must be >= 1, got 0"),
        ({"client": "python", "protocol": "http"}, "the Python client cannot .*: protocol http"),
        (
            {"tls": TlsParams("ca"), "compares": True},
            "the Python client cannot .*: comparing answers",
        ),
        ({"tls": TlsParams("ca"), "client": "native"}, "the native client does not speak TLS"),
        ({"client": "python", "compares": True}, "the Python client cannot .*: comparing answers"),
    ],
)
def test_transports_that_cannot_be_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        TransportParams(**fields)


@pytest.mark.parametrize(
    ("timeout_ns", "text"),
    [
        (1, "1n"),
        (99_999_999, "99999999n"),
        (100_000_000, "100000u"),
        (60_000_000_000, "60000000u"),
        (100_000_000_001, "100001m"),
        (10**18, "16666667M"),
    ],
)
def test_deadlines_have_eight_digits_at_most_and_are_rounded_up(timeout_ns, text):
    assert timeout_text(timeout_ns) == text


def test_a_message_has_its_length_before_it():
    assert framed(b"abc") == b"\0\0\0\0\x03abc"


def _measured(generator):
    recorder = Recorder()
    recorder.finish(recorder.begin(0, 0), 10)
    recorder.finish(recorder.begin(0, 0), 10, "UNAVAILABLE", "gone")
    records = recorder.records()
    return Measurement(summarise(records, open_loop=False, generator=generator), records)


def _summary(generator):
    return _measured(generator).summary


def test_a_generator_that_was_the_limit_is_said():
    busy = Generator("native", 1, 16, busy_share=0.97, cpu_share=0.93)
    idle = Generator("native", 2, 16, busy_share=0.5, cpu_share=0.4)
    assert (busy.is_bottleneck, idle.is_bottleneck) == (True, False)
    warnings = _summary(busy).warnings
    assert warnings[0].startswith("the generator itself was the bottleneck: it had something to do")
    assert "97% of the time (computing 93%)" in warnings[0]
    assert _summary(busy).to_dict()["generator"]["is_bottleneck"] is True
    assert _summary(idle).warnings == ("UNAVAILABLE: gone",)
    assert _text(busy) == [
        "native, 1 thread, 16 connections",
        "97% (computing 93%): THE BOTTLENECK",
    ]
    assert _text(idle) == ["native, 2 threads, 16 connections", "50% (computing 40%)"]


def test_a_generator_that_others_kept_from_its_core_is_told_from_a_slow_one():
    starved = Generator("native", 1, 16, busy_share=0.94, cpu_share=0.12)
    assert starved.is_bottleneck
    assert _text(starved)[1] == "94% (computing 12%): SHORT OF A CORE"
    assert _summary(starved).warnings[0].startswith("the generator itself was short of a core")
    assert _summary(starved).to_dict()["generator"]["is_short_of_a_core"] is True


def _text(generator):
    cells = list(render(_measured(generator), "t").columns[1].cells)
    return [str(cell) for cell in cells if "connection" in str(cell) or "computing" in str(cell)]


def test_why_it_is_not_the_native_client_is_said():
    generator = Generator("python", 1, 1, 0.1, 0.1, gave_up=True, instead="no library")
    said = _summary(generator).warnings
    assert said[0] == "the Python client measured, which is slower: no library"
    assert said[1] == "there was no server any more: the run ended before its time"
