"""``load`` reuses what it found out, and survives whatever happened to it meanwhile."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg import onnx_reader
from surplus.engine.errors import ConfigError, DeviceError, InputError
from surplus.engine.pipeline import making as module
from surplus.engine.pipeline import opening
from surplus.engine.pipeline.load import load, load_planned
from surplus.engine.pipeline.making import load_placed
from surplus.engine.planning import choice, job
from surplus.engine.planning.choice import choose
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.placement_file import save_placement
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.report.explanation import explain
from surplus.engine.runtime.model import Model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import Departure
from tests.device_lists import STREAMS, devices_or, with_wanted
from tests.pipeline.subject import Subject

QUICK: dict[str, Any] = {"devices": devices_or("cpu:2"), "selection_s": 0}


def _load(subject: Subject, **options: Any) -> PlannedModel:
    return load_planned(
        subject.path, cache=subject.cache, inputs=subject.inputs, **{**QUICK, **options}
    )


def _no_measuring(*_: object, **__: object) -> None:
    raise AssertionError("measured again")


def test_second_load_measures_nothing(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _load(subject)
    monkeypatch.setattr(module, "measure", _no_measuring)
    monkeypatch.setattr(module, "example_inputs", _no_measuring)
    second = load_planned(subject.path, cache=subject.cache, **QUICK)
    assert second.plan == first.plan
    right, again = first.run(subject.inputs), second.run(subject.inputs)
    assert all(np.array_equal(right[name], again[name]) for name in right)


def test_what_may_run_while_queries_overlap() -> None:
    assert LoadParams().departure() is Departure.SAME_BITS
    assert LoadParams(relaxed_numerics=True).departure() is Departure.ALWAYS
    assert LoadParams(relaxed_numerics=True, slice_s=0.002).departure() is Departure.SAME_CUTS


def test_a_loaded_model_holds_no_graph(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):  # made, then stored
        model = _load(subject)
        want = model.run(subject.inputs)
        model.submit(subject.inputs).result()
        assert model.graph._content is None
    monkeypatch.setattr(onnx_reader, "content_of", _no_measuring)
    again = _load(subject, reuse=True)
    assert all(
        np.array_equal(want[name], value) for name, value in again.run(subject.inputs).items()
    )


def test_who_explains_a_loaded_model_reads_its_graph(subject: Subject) -> None:
    _load(subject)
    model = _load(subject)
    model.run(subject.inputs, traced=True)
    assert model.timeline().makespan_ns > 0
    assert model.graph._content is None
    assert explain(model, [model.breakdown()]).operators


def test_slices_answer_the_same_and_are_stored(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _load(subject)
    sliced = _load(subject, slice_s=1e-06)
    assert len(sliced.plan.segments) > len(whole.plan.segments)
    want, got = whole.run(subject.inputs), sliced.run(subject.inputs)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5)
    monkeypatch.setattr(module, "measure", _no_measuring)
    assert _load(subject, slice_s=1e-06).plan.segments == sliced.plan.segments
    assert _load(subject).plan.segments == whole.plan.segments
    with pytest.raises(ConfigError, match="slice_s must be 0 to"):
        _load(subject, slice_s=-1)


@pytest.mark.parametrize(
    "changed",
    [
        {"devices": "cpu:1"},
        {"placement_policy": "heft"},
        {"policy_options": {"time_ms": 5}},
        {"reuse": False},
    ],
)
def test_another_question_is_measured(
    shared: Subject, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _load(shared)
    monkeypatch.setattr(module, "measure", _no_measuring)
    with pytest.raises(AssertionError, match="measured again"):
        _load(shared, **changed)


def _cut(text: bytes) -> bytes:
    return text[: len(text) // 2]


def _edit(text: bytes) -> bytes:
    return text.replace(b'"rank": 0', b'"rank": 7')


@pytest.mark.parametrize(
    "damage",
    [_cut, _edit, lambda _: b"", lambda _: b"\xff\xfe\n{}", lambda t: t.replace(b"\n", b"")],
)
def test_a_damaged_plan_is_replaced(
    subject: Subject, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    _load(subject)
    (path,) = subject.plans()
    path.write_bytes(damage(path.read_bytes()))
    damaged = path.read_bytes()
    with caplog.at_level(logging.WARNING):
        model = _load(subject)
    assert "is not used" in caplog.text
    assert path.read_bytes() != damaged
    assert subject.plans() == [path]
    assert model.run(subject.inputs)


def test_a_plan_that_cannot_be_prepared_is_replaced(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _load(subject)
    real, failures = opening.PlannedModel, [DeviceError("no longer there")]

    def first_fails(*arguments: Any) -> PlannedModel:
        if failures:
            raise failures.pop()
        return real(*arguments)

    monkeypatch.setattr(opening, "PlannedModel", first_fails)
    with caplog.at_level(logging.WARNING):
        assert _load(subject).run(subject.inputs)
    assert "no longer there" in caplog.text


def test_a_cache_that_cannot_be_written(
    subject: Subject, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING):
        model = load_planned(
            subject.path, cache=tmp_path / "file" / "cache", inputs=subject.inputs, **QUICK
        )
    assert model.run(subject.inputs)
    assert "not cached" in caplog.text


def test_a_plan_that_cannot_be_stored(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(job, "plan_path", lambda *_: subject.path / "below a file" / "plan.json")
    with caplog.at_level(logging.WARNING):
        assert _load(subject).run(subject.inputs)
    assert "the plan is not stored" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"placement_policy": "magic"}, "unknown policy 'magic'"),
        ({"threads": 4}, "load has no option 'threads'; surplus.LoadParams lists"),
        (
            {"placement_policy": "comm_sd", "policy_options": {"alpha_ns": "far"}},
            "wrong type: alpha_ns='far'",
        ),
        ({"placement_policy": "comm_sd", "policy_options": {"alpha_ns": -1}}, "alpha_ns"),
        ({"finalists": 0}, "finalists must be 1 to 1000, got 0"),
        ({"selection_s": -1}, "selection_s must be 0 to"),
    ],
)
def test_wrong_options(
    shared: Subject, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_model", _no_measuring)
    with pytest.raises(ConfigError, match=message):
        _load(shared, **options)


def test_wrong_devices(shared: Subject) -> None:
    with pytest.raises(DeviceError, match="unknown kind 'tpu'"):
        _load(shared, devices="tpu:1")


def test_wrong_example_inputs(subject: Subject) -> None:
    with pytest.raises(InputError, match="unknown input 'y'"):
        load_planned(subject.path, cache=subject.cache, inputs={"y": np.ones(1)}, **QUICK)


def test_load_is_the_packages_face(shared: Subject) -> None:
    assert surplus.load is load
    assert surplus.Model is Model


def _choose(subject: Subject, devices: str, **options: Any) -> PlannedModel:
    graph = read_model(subject.path, subject.cache)
    params = LoadParams(devices=devices, selection_s=0, **options)
    costs = costs_of(
        graph, measure(graph, params.specs(), subject.inputs, subject.cache), params.specs()
    )
    return choose(PlanJob(graph, params, subject.inputs), costs, place(costs.problem, "comm_sd"))


@pytest.mark.parametrize("devices", with_wanted("cpu:2", "cpu:1,emulated:gpu", STREAMS))
def test_choose_runs_the_whole_model_too(
    shared: Subject, devices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def recorded(*arguments: Any, **options: Any) -> PlannedModel:
        built.append(PlannedModel(*arguments, **options))
        return built[-1]

    monkeypatch.setattr(choice, "PlannedModel", recorded)
    chosen = _choose(shared, devices, finalists=2)
    assert any(len(model.plan.segments) == 1 for model in built)
    assert chosen in built


def test_choose_leaves_out_what_a_device_refuses(
    shared: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_whole(graph: Any, plan: Any, machine: Any, **options: Any) -> PlannedModel:
        if len(plan.segments) > 1:
            raise DeviceError("refused")
        return PlannedModel(graph, plan, machine, **options)

    monkeypatch.setattr(choice, "PlannedModel", only_whole)
    assert len(_choose(shared, "cpu:2").plan.segments) == 1


def test_choose_says_why_nothing_is_left(shared: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DeviceError("refused")

    monkeypatch.setattr(choice, "PlannedModel", refuse)
    with pytest.raises(DeviceError, match="refused"):
        _choose(shared, "cpu:2")


@pytest.mark.parametrize("devices", ["", "cpu:2,emulated:gpu[h200]:2"])
def test_load_placed_takes_the_profiles_devices(
    shared: Subject, devices: str, tmp_path: Path
) -> None:
    specs = parse_devices("cpu:2,emulated:gpu[h200]:2")
    graph = read_model(shared.path, shared.cache)
    profile = measure(graph, specs, shared.inputs, shared.cache)
    profile.save(tmp_path / "P.json")
    problem = costs_of(graph, profile, specs).problem
    save_placement(tmp_path / "F.json", graph, problem, place(problem, "qd_all"))
    params = LoadParams(devices=devices, cache=shared.cache, selection_s=0)
    files = (tmp_path / "F.json", tmp_path / "P.json")
    model = load_placed(shared.path, *files, params, shared.inputs)
    assert model.plan.policy == "qd_all"
    assert model.plan.devices == ("cpu", "emulated:gpu")
    named = {"placement": files[0], "profile": str(files[1]), "inputs": shared.inputs}
    same = load_planned(shared.path, devices, cache=shared.cache, selection_s=0, **named)
    assert same.plan.policy == "qd_all"
    with pytest.raises(ConfigError, match="a profile goes with a placement"):
        load_planned(shared.path, profile=files[1])


def test_load_with_an_emulated_device(shared: Subject) -> None:
    emulation = EmulationParams(submit_ns=5_000)
    model = _load(shared, devices="cpu:1,emulated:gpu", emulation=emulation)
    assert model.run(shared.inputs)
