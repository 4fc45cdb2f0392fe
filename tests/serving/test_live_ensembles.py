"""Ensembles whose steps come, change and go while queries are answered."""

from __future__ import annotations

import pytest
from tritonclient.utils import InferenceServerException

from tests.serving.live_server import live_server

TENSOR = '{{ name: "{}" data_type: TYPE_FP32 dims: [ 4 ] }}'


def step(model, read, made):
    return (
        f'{{ model_name: "{model}" model_version: -1\n'
        f'  input_map {{ key: "INPUT0" value: "{read}" }}\n'
        f'  output_map {{ key: "OUTPUT0" value: "{made}" }} }}'
    )


def ensemble(*steps):
    return (
        'platform: "ensemble"\nmax_batch_size: 8\n'
        f"input [ {TENSOR.format('IN')} ]\noutput [ {TENSOR.format('OUTPUT0')} ]\n"
        f"ensemble_scheduling {{ step [ {', '.join(steps)} ] }}\n"
    )


BOTH = ensemble(step("one", "IN", "mid"), step("two", "mid", "OUTPUT0"))
OUTER = ensemble(step("both", "IN", "mid").replace("INPUT0", "IN"), step("two", "mid", "OUTPUT0"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def live(tmp_path, cache):
    with live_server(tmp_path, cache) as live:
        live.put("one", 2)
        live.put("two", 3)
        write(live, "both", BOTH)
        yield live


def write(live, name, config):
    folder = live.root / name
    folder.mkdir(exist_ok=True)
    (folder / "config.pbtxt").write_text(config)


def test_a_load_brings_the_steps_and_a_step_the_ensembles(live):
    live.client.load_model("both")
    assert (live.factor("both"), live.factor("one"), live.factor("two")) == (6, 2, 3)
    live.put("one", 5)
    live.client.load_model("one")
    assert (live.factor("both"), live.factor("one")) == (15, 5)


def test_one_within_another_is_of_the_inner_ones_steps_too(live):
    write(live, "outer", OUTER)
    live.client.load_model("outer")
    assert (live.factor("outer"), live.factor("both"), live.factor("one")) == (18, 6, 2)
    live.put("one", 5)
    live.client.load_model("one")
    assert (live.factor("outer"), live.factor("both")) == (45, 15)


def test_an_unload_takes_the_steps_only_if_asked(live):
    live.client.load_model("both")
    live.client.unload_model("both")
    assert live.factor("one") == 2
    live.put("one", 5)
    live.client.load_model("one")  # and nobody has asked for the ensemble
    with pytest.raises(InferenceServerException, match="unloaded"):
        live.factor("both")
    live.client.load_model("both")
    live.client.unload_model("both", unload_dependents=True)
    assert {state for state, _ in live.index().values()} == {"UNAVAILABLE"}


def test_a_step_that_no_longer_fits_leaves_the_ensemble_as_it_was(live):
    live.client.load_model("both")
    before = live.client.get_model_config("both")
    live.put("one", 5, config='max_batch_size: 2 output { name: "OUTPUT0" }')
    live.client.load_model("one")
    assert (live.factor("both"), live.factor("one")) == (6, 5)
    state, reason = live.index()["both", "1"]
    assert state == "READY"
    assert "max_batch_size: is 8, but 2 of step 'one'" in reason
    assert live.client.get_model_config("both") == before


def test_a_load_of_what_was_missing_brings_those_that_failed(live):
    write(live, "late", BOTH.replace('"one"', '"none_yet"'))
    write(live, "later", OUTER.replace('"both"', '"late"'))
    for name in ("late", "later"):
        with pytest.raises(InferenceServerException, match="none_yet"):
            live.client.load_model(name)
    live.put("none_yet", 4)
    live.client.load_model("none_yet")
    assert (live.factor("late"), live.factor("later")) == (12, 36)


def test_a_load_of_a_step_leaves_what_a_client_has_unloaded(live):
    write(live, "late", BOTH.replace('"one"', '"none_yet"'))
    with pytest.raises(InferenceServerException, match="none_yet"):
        live.client.load_model("late")
    live.client.unload_model("late")
    live.put("none_yet", 4)
    live.client.load_model("none_yet")
    assert live.index()["late", "1"][0] == "UNAVAILABLE"


def test_polling_follows_the_steps(live):
    live.look()
    assert live.factor("both") == 6
    live.put("two", 7)
    live.look()
    assert (live.factor("both"), live.factor("two")) == (14, 7)


def test_steps_may_come_later_than_what_is_made_of_them(live):
    write(live, "late", BOTH.replace('"one"', '"none_yet"'))
    live.look()
    assert "step[0].model_name: there is no model 'none_yet'" in live.index()["late", "1"][1]
    live.put("none_yet", 4)
    live.look()
    assert live.factor("late") == 12
