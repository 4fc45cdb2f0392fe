"""Plugin providers: found, described, refused with what is missing; measured as other devices."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus import models
from surplus.engine import _core
from surplus.engine.devices.inventory import inventory
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.plugins import read_plugin
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import DeviceError, RuntimeLibraryError
from surplus.engine.native import (
    find_plugin_library,
    installed_plugins,
    load_runtime,
    plugin_variable,
)
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.profiling.plugin_profiler import largest_difference
from surplus.engine.profiling.profile import Profile
from surplus.engine.values import to_value
from tests.fakes.plugin import FakePlugin, fake_plugin

SPECS = parse_devices("cpu:1,plugin:fake")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakePlugin]:
    library = fake_plugin()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fake", "idle", "broken", "wrong"):
            patch.setenv(plugin_variable(name), str(library.path))
        yield library


def refusal(device: str) -> str:
    spec = next(s for s in parse_devices(device) if s.kind == "plugin")
    with pytest.raises(DeviceError) as caught:
        spec.check_present()
    text = str(caught.value)
    assert re.match(rf"device '{device}': .*; emulated:gpu stands in for a GPU$", text)
    return text


def test_a_provider_says_what_it_drives(fake: FakePlugin) -> None:
    facts = read_plugin("fake")
    assert facts.provider == "FakeExecutionProvider"
    assert re.fullmatch(r"CPU .* through FakeExecutionProvider 0\.1\.0", facts.title)
    SPECS[1].check_present()


def test_what_is_missing_is_named(fake: FakePlugin, monkeypatch: pytest.MonkeyPatch) -> None:
    text = refusal("plugin:not-there")
    assert "`pip install onnxruntime-ep-not-there`" in text
    assert "SURPLUS_PLUGIN_NOT_THERE" in text
    assert "the fake provider is broken" in refusal("plugin:broken")
    assert "is registered, but finds no GPU: ONNX Runtime lists those under /sys/class/drm" in (
        refusal("plugin:idle")
    )
    monkeypatch.setenv("SURPLUS_PLUGIN_GONE", "/nowhere/lib.so")
    assert "SURPLUS_PLUGIN_GONE names /nowhere/lib.so, which is not a file" in (
        refusal("plugin:gone")
    )


def test_a_package_brings_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "onnxruntime_ep_some_name"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeLibraryError, match="'some-name' is not installed"):
        find_plugin_library("some-name")
    library = package / "lib" / "libonnxruntime_providers_some_name.so"
    library.touch()
    assert find_plugin_library("some-name") == library
    assert "some-name" in installed_plugins()


def test_engine_devices_lists_providers(fake: FakePlugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SURPLUS_PLUGIN_WEBGPU", raising=False)
    rows = {row["device"]: row for row in inventory()["devices"]}
    assert rows["plugin:fake"]["usable"] == "yes"
    assert rows["plugin:fake"]["is"] == read_plugin("fake").title
    assert "broken" in rows["plugin:broken"]["usable"]
    assert "plugin:webgpu" in rows  # whether it is here or not


def small_graph(folder: Path) -> Graph:
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="neg"),
        helper.make_node("Exp", ["a"], ["b"], name="exp"),
        helper.make_node("Abs", ["b"], ["y"], name="abs"),
    ]
    shape = [value(name, TensorProto.FLOAT, [64, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "small", shape[:1], shape[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return read_model(models.save(proto, folder / "small.onnx"), folder / "cache")


def test_a_profile_has_what_the_provider_takes(fake: FakePlugin, tmp_path: Path) -> None:
    graph = small_graph(tmp_path)
    inputs = {"x": np.ones((64, 64), np.float32)}
    profile = measure(graph, SPECS, inputs, tmp_path / "cache")
    able = {task.op for task in profile.tasks if "plugin:fake" in task.times}
    assert able == {"Neg", "Abs"}
    device = profile.device("plugin:fake")
    assert device.kind == "plugin"
    assert device.origin == (
        f"measured on {read_plugin('fake').title}; copies are part of its runs"
    )
    assert {(link.source, link.target) for link in profile.links} == {
        ("host", "plugin:fake"),
        ("plugin:fake", "host"),
    }
    profile.save(tmp_path / "p.json")
    loaded = Profile.load(tmp_path / "p.json")
    assert loaded.device_specs() == SPECS
    first = graph.tasks[0].name
    assert loaded.launch_ns(first, "plugin:fake") == loaded.service_ns(first, "plugin:fake")
    placement = place(costs_of(graph, loaded, SPECS).problem, "single")
    assert [SPECS[d].name for d in placement.device_of] == ["plugin:fake", "cpu", "plugin:fake"]
    before = fake.runs()
    again = measure(graph, SPECS, inputs, tmp_path / "cache")
    assert [t.times["plugin:fake"] for t in again.tasks if t.op != "Exp"] == [
        t.times["plugin:fake"] for t in profile.tasks if t.op != "Exp"
    ]
    assert fake.runs() > before  # the whole model, and copies, are measured anew
    assert fake.strays() == 0


def test_what_a_provider_computes_otherwise_stays_off_it(
    fake: FakePlugin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph = small_graph(tmp_path)
    specs = parse_devices("cpu:1,plugin:wrong")
    for told in ("answers otherwise than the CPU, by 2 of the largest magnitude: Neg", ""):
        caplog.clear()
        profile = measure(graph, specs, {"x": np.ones((64, 64), np.float32)}, tmp_path / "cache")
        assert {task.op for task in profile.tasks if "plugin:wrong" in task.times} == {"Abs"}
        assert told in caplog.text
        assert bool(told) == bool(caplog.text)  # what the store says is known


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("answer", "expected", "difference"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.5, 4.0], [1.0, 4.0], 0.125),
        ([0.25], [0.0], 0.25),
        ([1.0, NAN, INF], [1.0, NAN, INF], 0.0),
        ([1.0, 0.0], [1.0, NAN], INF),
        ([NAN], [1.0], INF),
        ([1.0], [1.0, 1.0], INF),
        ([[1.0]], [1.0], INF),
        ([], [], 0.0),
        ([3, 4], [3, 4], 0.0),
        ([3, 5], [3, 4], 1.0),
        ([3], [3.0], INF),
    ],
)
def test_the_difference_of_answers(answer, expected, difference) -> None:
    load_runtime()
    one, other = (_value(rows) for rows in (answer, expected))
    assert largest_difference([one], [other]) == difference


def test_an_absent_answer_differs() -> None:
    load_runtime()
    assert largest_difference([None], [_value([1.0])]) == INF


def _value(rows: object) -> _core.Value:
    array = np.array(rows)
    is_real = array.dtype.kind == "f"
    return to_value(
        array.astype(np.float32 if is_real else np.int64),
        TensorProto.FLOAT if is_real else TensorProto.INT64,
    )


@pytest.mark.parametrize("kept", ["nothing", "plan", "flight"])
def test_a_process_ends_well_whatever_it_keeps(fake: FakePlugin, kept: str) -> None:
    script = Path(__file__).with_name("plugin_exit.py")
    words = [sys.executable, str(script), "fake", kept]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
