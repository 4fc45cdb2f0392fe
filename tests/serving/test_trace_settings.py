"""Trace settings over both faces; the rest is among the conformance cases."""

import pytest
import tritonclient.http
from tritonclient.utils import InferenceServerException

from surplus.engine.serving.trace_settings import SETTINGS


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
        ({"trace_rate": "5"}, ("UNIMPLEMENTED", "501"), "'trace_rate' cannot become '5'"),
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
